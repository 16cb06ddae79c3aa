"""The index of the runs, on SQLite and on PostgreSQL: the same rows, pages and rejections on both."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from tests.support import stream_run
from tests.support.index_rows import rows_of
from tests.support.postgres import PostgresServer
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.summary import summarise
from wirebench.errors import UsageError
from wirebench.model.metric import COMPARED, METRICS, SPREAD, name_spread
from wirebench.model.record import Instrument
from wirebench.model.run_info import Run
from wirebench.store.index import Filters, Index, IndexUnusableError, Result
from wirebench.store.index.tables import SCHEMA, version
from wirebench.store.index.url import parse
from wirebench.store.runs import load_run

START = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
EARLIER = "20261120T101500Z-quick"


def empty(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of a database with nothing in it, of the kind that a fixture is for."""
    if request.param == "sqlite":
        return f"sqlite:///{folder}/index.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database with nothing in it."""
    return empty(request, tmp_path)


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    """Return an index with nothing in it."""
    with Index(url) as opened:
        yield opened


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Return an index of three runs, a day after each other: on one machine, on a cluster, on another machine."""
    folder = tmp_path_factory.mktemp("runs")
    machine = {"cpu": "Big", "cores": "1"}
    others: tuple[dict[str, Any], ...] = ({}, {"target": "kubernetes"}, {"machine": machine})
    for day, (scenario, other) in enumerate(zip(("quick", "slow", "slow"), others, strict=True)):
        started_at = START + timedelta(days=day)
        info = {"scenario": scenario, "started_at": started_at.isoformat(), **other}
        write_run(folder, f"{started_at:%Y%m%dT%H%M%SZ}-{scenario}", blocks=1, info=info)
    with Index(empty(request, folder)) as opened:
        opened.catch_up(folder)
        yield opened


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


def test_figures_are_those_that_tables_and_reports_show(index: Index, tmp_path: Path) -> None:
    """Latencies are merged, counts are added up, and the others are geometric means."""
    instrument = Instrument(coarse=True, p50_error_ms=None, p99_error_ms=None, ceiling_per_s=9, ceiling_share=0.3)
    record = {"errors": {"internal": 3}, "retried": 4, "instrument": instrument}
    run = write_run(tmp_path, EARLIER, record=record, gates=(passed(), GENERATOR_GATE))
    cells = [stream_run.stream_cell("rest")]
    streams = stream_run.write_run(tmp_path, cells, {"rest": 1.0}, blocks=2)
    index.catch_up(tmp_path)
    found = {(row.run_id, row.cell): row for row in index.results(Filters()).rows}
    for each in (run, streams):
        for summary in summarise(each.records):
            row = found.pop((each.info.id, summary.cell))
            for metric in METRICS.values():
                assert pytest.approx(summary.figure(metric)) == getattr(row, metric.field)
            for metric in SPREAD if each is run else ():
                blocks = summary.by_block(metric).values()
                assert (min(blocks), max(blocks)) == tuple(getattr(row, name) for name in name_spread(metric))
            assert summary.error_counts == row.errors
            assert sum(record.requests for record in summary.records) == row.requests
            assert sum(sum(record.errors.values()) for record in summary.records) == row.failed
            assert row.requests == row.successful + row.failed
            assert tuple(gate.name for gate in summary.failed_gates()) == row.failed_gates
            by_metric = {name: tuple(gate.name for gate in summary.failed_gates(METRICS[name])) for name in COMPARED}
            assert {name: gates for name, gates in by_metric.items() if gates} == row.failed_gates_by_metric
            assert (len(summary.records), summary.factors) == (row.blocks, row.factors)
    assert {} == found


def test_what_the_folder_has_more_is_caught_up(index: Index, url: str, tmp_path: Path) -> None:
    """A run, a record, and how a run has ended; nothing is put twice, and what the folder has lost stays."""
    (newer, older) = write_runs(tmp_path, 2)
    assert (2, 2) == dataclasses.astuple(index.catch_up(tmp_path))[:2]
    before = rows_of(url)
    assert (0, 0) == dataclasses.astuple(index.catch_up(tmp_path))[:2]
    run = load_run(tmp_path / newer)
    record = run.records[0].model_copy(update={"id": "b002", "block": 2})
    (tmp_path / newer / "records" / "b002.json").write_text(record.model_dump_json())
    info = load_run(tmp_path / older).info.model_copy(update={"reason": "it was told again"})
    (tmp_path / older / "run.json").write_text(info.model_dump_json())
    assert (2, 3) == dataclasses.astuple(index.catch_up(tmp_path))[:2]
    assert {older: "it was told again", newer: ""} == {row.run_id: row.reason for row in index.runs(Filters()).rows}
    assert before["blocks"] == [row for row in rows_of(url)["blocks"] if row[2] == "1"]
    (tmp_path / older).rename(tmp_path.parent / f"{tmp_path.name}-gone")
    index.catch_up(tmp_path)
    assert 2 == index.runs(Filters()).total


def test_damaged_runs_are_named_and_hide_no_other(index: Index, tmp_path: Path) -> None:
    """Whatever is wrong with them, the others are there."""
    whole, twice, text_, renamed, huge = write_runs(tmp_path, 5)
    record = next((tmp_path / twice / "records").iterdir())
    (record.parent / "copy.json").write_bytes(record.read_bytes())
    (tmp_path / text_ / "run.json").write_text("{")
    (tmp_path / renamed).rename(tmp_path / "renamed")
    too_many = load_run(tmp_path / huge).records[0].model_copy(update={"requests": 10**30})
    next((tmp_path / huge / "records").iterdir()).write_text(too_many.model_dump_json())
    damaged = {each.folder.name: each.reason for each in index.catch_up(tmp_path).damaged}
    assert {twice, text_, "renamed", huge} == damaged.keys()
    assert damaged[twice].startswith("two records are of block 1 of rest-")
    assert f"it is the run {renamed}, in a folder of another name" == damaged["renamed"]
    assert [whole] == [row.run_id for row in index.runs(Filters()).rows]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, 48),
        ({"run_id": ("20261121T101500Z-quick",)}, 16),
        ({"run_id": ("20261121T101500Z-quick", "20261122T101500Z-slow", "nothing")}, 32),
        ({"scenario": ("slow",)}, 32),
        ({"transport": ("grpc",)}, 24),
        ({"transport": ("grpc", "socket"), "driver": ("wireload",)}, 24),
        ({"concurrency": (1, 7)}, 24),
        ({"operation": ("users.create",), "concurrency": (16,), "scenario": ("quick",)}, 4),
        ({"target": ("kubernetes",)}, 16),
        ({"machine": ("Some CPU @ 2.50GHz, 2 cores",)}, 32),
        ({"machine": ("Big, 1 core",)}, 16),
        ({"since": START + timedelta(days=1)}, 32),
        ({"until": START + timedelta(days=1)}, 32),
        ({"since": datetime(1, 1, 1, tzinfo=EAST), "until": datetime(9999, 12, 31, 23, 59, tzinfo=WEST)}, 48),
        ({"since": START + timedelta(seconds=1), "until": START + timedelta(hours=1)}, 0),
        ({"variant": ("nothing",)}, 0),
        ({"scenario": ("%", "_low", "' OR 1=1 --", "\x00", "\ud800")}, 0),
    ],
)
def test_filters(filled: Index, filters: dict[str, Any], expected: int) -> None:
    """Each that is set holds, with any of its levels; those of cells find the runs that have such cells."""
    page = filled.results(Filters(**filters))
    assert (expected, expected, None) == (len(page.rows), page.total, page.next_cursor)
    runs = filled.runs(Filters(**filters))
    assert list(dict.fromkeys(row.run_id for row in page.rows)) == [row.run_id for row in runs.rows]


def test_names_are_text(index: Index, tmp_path: Path) -> None:
    """SQL and HTML in names is neither run nor lost."""
    run = "20261121T101500Z-quick"
    name = "'; DROP TABLE runs; --<script>alert(1)<"
    info = {"scenario": name, "question": '"; DELETE FROM cells', "reason": "\x00%s %(x)s :x ?"}
    write_run(tmp_path, run, cells=[cell("rest", operation=name)], info=info)
    index.catch_up(tmp_path)
    (row,) = index.results(Filters(run_id=(run,), scenario=(name,), operation=(name,))).rows
    assert (run, name, name) == (row.run_id, row.scenario, row.operation)
    assert [("\ufffd%s %(x)s :x ?", '"; DELETE FROM cells')] == [
        (run.reason, run.question) for run in index.runs(Filters(operation=(name,))).rows
    ]
    assert ((name,), (name,)) == (index.choices()["scenario"], index.choices()["operation"])


def test_pages_follow_each_other(index: Index, tmp_path: Path) -> None:
    """Each row is on one page, in one order, whatever the size of the pages."""
    for day in (1, 2, 3):
        info = {"started_at": "2026-11-21T10:15:00Z"}  # all at once
        write_run(tmp_path, f"2026110{day}T101500Z-quick", blocks=1, info=info)
    index.catch_up(tmp_path)
    whole = index.results(Filters()).rows
    assert 48 == len(whole)
    expected = sorted(whole, key=lambda row: (row.operation, row.concurrency, row.cell))
    assert sorted(expected, key=lambda row: row.run_id, reverse=True) == list(whole)
    for limit in (7, 48):
        assert list(whole) == list(all_results(index, limit))
    runs = index.runs(Filters()).rows
    cursor = index.runs(Filters(), limit=2).next_cursor
    assert runs[2:] == index.runs(Filters(), limit=2, cursor=cursor).rows


def all_results(index: Index, limit: int) -> Iterator[Result]:
    """Yield the rows of all pages of a size."""
    cursor = None
    while True:
        page = index.results(Filters(), limit=limit, cursor=cursor)
        yield from page.rows
        if (cursor := page.next_cursor) is None:
            return


@pytest.mark.parametrize("cursor", ["é", "bnVsbA", "WyJydW4iLCJ4IiwieCJd", "A" * 100_000])
def test_a_cursor_that_is_none_is_rejected(index: Index, tmp_path: Path, cursor: str) -> None:
    """Both lists say so, and what to give instead; the cursor of one is invalid for the other."""
    write_runs(tmp_path, 2)
    index.catch_up(tmp_path)
    for page in (index.results, index.runs):
        with pytest.raises(UsageError, match="cursor: it isn't from a page of this list"):
            page(Filters(), cursor=cursor)
    with pytest.raises(UsageError, match="cursor"):
        index.runs(Filters(), cursor=index.results(Filters(), limit=1).next_cursor)
    with pytest.raises(UsageError, match="cursor"):
        index.results(Filters(), cursor=index.runs(Filters(), limit=1).next_cursor)


def test_an_index_of_an_earlier_version_is_rebuilt(url: str, tmp_path: Path) -> None:
    """Its tables give way to those of this version, whatever they were; the folder has all that was in them."""
    write_run(tmp_path, cells=[cell("rest"), cell("grpc")])
    with Index(url) as index:
        index.catch_up(tmp_path)
    new = rows_of(url)
    set_schema(url, "0001", "ALTER TABLE cells RENAME COLUMN transport TO protocol", "DROP VIEW results",
               "CREATE VIEW results AS SELECT id AS cell_id FROM cells")  # fmt: skip
    with Index(url) as index:
        assert (True, 0) == (index.is_new, index.runs(Filters()).total)
        index.catch_up(tmp_path)
    assert new == rows_of(url)


def set_schema(url: str, schema: str, *changes: str) -> None:
    """Have a database claim a schema, and change it."""
    engine = create_engine(parse(url))
    with engine.begin() as connection:
        for change in changes:
            connection.execute(text(change))
        connection.execute(version.update().values(version_num=schema))
    engine.dispose()


def test_an_index_of_a_newer_version_is_rejected(index: Index, url: str) -> None:
    """With its schema and ours, and nothing is changed."""
    index.close()
    set_schema(url, "9999")
    with pytest.raises(IndexUnusableError, match=f"its schema is 9999, this version's {SCHEMA}") as error:
        Index(url)
    assert "use that version" in error.value.hint
