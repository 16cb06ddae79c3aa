"""The tables of the runs, on SQLite and on PostgreSQL: the same rows, pages and rejections on both."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from tests.support import stream_run
from tests.support.postgres import PostgresServer
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.results import Result, describe_cells, describe_run
from wirebench.analysis.summary import summarise
from wirebench.errors import UsageError
from wirebench.model.run_info import Run
from wirebench.store.query import Filters
from wirebench.store.runs import load_run
from wirebench.store.store import Store

START = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
EARLIER = "20261120T101500Z-quick"


def make_url(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of a database with nothing in it, of the kind that a fixture is for."""
    if request.param == "sqlite":
        return f"sqlite:///{folder}/index.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty().replace("+psycopg", "")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database with nothing in it."""
    return make_url(request, tmp_path)


@pytest.fixture
def store(url: str, tmp_path: Path) -> Store:
    """Return a store of the runs in the folder of a test."""
    return Store(tmp_path, url)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of three runs, a day after each other: on one machine, on a cluster, on another machine."""
    folder = tmp_path_factory.mktemp("runs")
    machine = {"cpu": "Big", "cores": "1"}
    others: tuple[dict[str, Any], ...] = ({}, {"target": "kubernetes"}, {"machine": machine})
    for day, (scenario, other) in enumerate(zip(("quick", "slow", "slow"), others, strict=True)):
        started_at = START + timedelta(days=day)
        info = {"scenario": scenario, "started_at": started_at.isoformat(), **other}
        write_run(folder, f"{started_at:%Y%m%dT%H%M%SZ}-{scenario}", blocks=1, info=info)
    store = Store(folder, make_url(request, folder))
    store.update()
    return store


def write_run(folder: Path, name: str = "20261121T101500Z-quick", **changes: Any) -> Run:  # noqa: ANN401 - of fields
    """Write a run of few samples."""
    info = {"id": name, **changes.pop("info", {})}
    return RunBuilder(samples=20, **{"blocks": 2, "info": info, **changes}).write(folder)


def write_runs(folder: Path, count: int) -> list[str]:
    """Write runs of one record each, an hour after each other, and return their names, the newest first."""
    names = []
    for number in range(count):
        started_at = START + timedelta(hours=number)
        names.append(f"{started_at:%Y%m%dT%H%M%SZ}-quick")
        info = {"started_at": started_at.isoformat()}
        write_run(folder, names[-1], blocks=1, cells=[cell("rest")], info=info)
    return names[::-1]


def test_rows_are_those_that_pages_and_files_show(store: Store, tmp_path: Path) -> None:
    """Every field of a run and of its cells comes back as it was computed."""
    record = {"errors": {"internal": 3}, "retried": 4}
    run = write_run(tmp_path, EARLIER, record=record, gates=(passed(), GENERATOR_GATE))
    streams = stream_run.write_run(tmp_path, [stream_run.stream_cell("rest")], {"rest": 1.0}, blocks=2)
    store.update()
    names = [field.name for field in dataclasses.fields(Result)]
    expected = [
        {name: getattr(row, name) for name in names}
        for each in (streams, run)
        for row in describe_cells(each.info, summarise(each.records))
    ]
    assert expected == [dataclasses.asdict(row) for row in store.results(Filters()).rows]
    assert (describe_run(streams), describe_run(run)) == store.runs(Filters()).rows


def test_an_update_brings_what_the_folder_has(store: Store, tmp_path: Path) -> None:
    """A new record and another end of a run are found; nothing is put twice, and a run that is removed goes."""
    newer, older = write_runs(tmp_path, 2)
    assert (2, 0) == (store.update(), store.update())
    record = load_run(tmp_path / newer).records[0].model_copy(update={"id": "b002", "block": 2})
    (tmp_path / newer / "records" / "b002.json").write_text(record.model_dump_json())
    info = load_run(tmp_path / older).info.model_copy(update={"reason": "it was told again"})
    (tmp_path / older / "run.json").write_text(info.model_dump_json())
    assert 2 == store.update()
    rows = store.runs(Filters()).rows
    assert [(newer, 2, ""), (older, 1, "it was told again")] == [(row.run_id, row.records, row.reason) for row in rows]
    shutil.rmtree(tmp_path / older)
    assert 0 == store.update()
    assert [newer] == [row.run_id for row in store.runs(Filters()).rows]


def test_damaged_runs_are_named_and_hide_no_other(store: Store, tmp_path: Path) -> None:
    """Whatever is wrong with them, the others are there; one that is repaired is there as well."""
    whole, text_, renamed, huge = write_runs(tmp_path, 4)
    (tmp_path / text_ / "run.json").write_text("{")
    (tmp_path / renamed).rename(tmp_path / "renamed")
    info = load_run(tmp_path / huge).info
    broken = info.model_copy(update={"seed": 10**30})
    (tmp_path / huge / "run.json").write_text(broken.model_dump_json())
    store.update()
    damaged = {each.folder.name: each.reason for each in store.damaged}
    assert {text_, "renamed", huge} == damaged.keys()
    assert damaged[huge].startswith("the index can't hold it: ")
    assert f"it is the run {renamed}, in a folder of another name" == damaged["renamed"]
    assert [whole] == [row.run_id for row in store.runs(Filters()).rows]
    (tmp_path / huge / "run.json").write_text(info.model_dump_json())
    assert 1 == store.update()
    assert huge not in {each.folder.name for each in store.damaged}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, 48),
        ({"run_id": ("20261121T101500Z-quick", "20261122T101500Z-slow", "nothing")}, 32),
        ({"scenario": ("slow",)}, 32),
        ({"transport": ("grpc", "socket"), "driver": ("wireload",)}, 24),
        ({"concurrency": (1, 7)}, 24),
        ({"operation": ("users.create",), "concurrency": (16,), "scenario": ("quick",)}, 4),
        ({"target": ("kubernetes",)}, 16),
        ({"scenario": ("%", "_low", "' OR 1=1 --", "\x00", "\ud800")}, 0),
    ],
)
def test_filters(filled: Store, filters: dict[str, Any], expected: int) -> None:
    """Each that is set holds, with any of its levels; those of cells find the runs that have such cells."""
    page = filled.results(Filters(**filters))
    assert (expected, expected, None) == (len(page.rows), page.total, page.next_cursor)
    runs = filled.runs(Filters(**filters))
    assert list(dict.fromkeys(row.run_id for row in page.rows)) == [row.run_id for row in runs.rows]


def test_names_are_text(store: Store, tmp_path: Path) -> None:
    """SQL and HTML in names is neither run nor lost."""
    run = "20261121T101500Z-quick"
    name = "'; DROP TABLE runs; --<script>alert(1)<"
    info = {"scenario": name, "question": '"; DELETE FROM cells', "reason": "\x00%s %(x)s :x ?"}
    write_run(tmp_path, run, cells=[cell("rest", operation=name)], info=info)
    store.update()
    (row,) = store.results(Filters(run_id=(run,), scenario=(name,), operation=(name,))).rows
    assert (run, name, name) == (row.run_id, row.scenario, row.operation)
    assert [("\ufffd%s %(x)s :x ?", '"; DELETE FROM cells')] == [
        (run.reason, run.question) for run in store.runs(Filters(operation=(name,))).rows
    ]
    assert (name,) == store.choices()["scenario"]


def test_pages_follow_each_other(store: Store, tmp_path: Path) -> None:
    """Each row is on one page, in one order, whatever the size of the pages."""
    for day in (1, 2, 3):
        write_run(tmp_path, f"2026110{day}T101500Z-quick", blocks=1)
    store.update()
    whole = store.results(Filters()).rows
    assert (48, 3) == (len(whole), len({row.run_id for row in whole}))
    for limit in (7, 48):
        assert list(whole) == list(read_all_results(store, limit))
    runs = store.runs(Filters()).rows
    assert sorted((run.run_id for run in runs), reverse=True) == [run.run_id for run in runs]
    cursor = store.runs(Filters(), limit=2).next_cursor
    assert runs[2:] == store.runs(Filters(), limit=2, cursor=cursor).rows


def read_all_results(store: Store, limit: int) -> Iterator[Result]:
    """Yield the rows of all pages of a size."""
    cursor = None
    while True:
        page = store.results(Filters(), limit=limit, cursor=cursor)
        yield from page.rows
        if (cursor := page.next_cursor) is None:
            return


@pytest.mark.parametrize("cursor", ["é", "", "20261121T101500Z-quick:x", "A" * 100_000, f"{EARLIER}:{'9' * 30}"])
def test_an_invalid_cursor_is_rejected(store: Store, tmp_path: Path, cursor: str) -> None:
    """Both lists say so, and what to give instead."""
    write_runs(tmp_path, 2)
    write_run(tmp_path, EARLIER)
    store.update()
    for page in (store.results, store.runs):
        with pytest.raises(UsageError, match="cursor: it isn't from a page of this list"):
            page(Filters(), cursor=cursor)


def test_tables_of_another_version_are_rebuilt(url: str, tmp_path: Path) -> None:
    """Whatever they were: the folder has all that was in them."""
    write_run(tmp_path, cells=[cell("rest"), cell("grpc")])
    store = Store(tmp_path, url)
    store.update()
    expected = store.results(Filters())
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("DROP VIEW results"))
        connection.execute(text("ALTER TABLE cells RENAME COLUMN transport TO protocol2"))
        connection.execute(text("UPDATE wirebench_schema SET version = '0001'"))
    engine.dispose()
    again = Store(tmp_path, url)
    again.update()
    assert expected == again.results(Filters())
