"""The index of a folder of runs: where it is, and what becomes of one that is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.model.labels import name_machine
from wirebench.model.run_info import Run
from wirebench.run.runner import update_index
from wirebench.store.index import (
    Filters,
    Index,
    IndexUnusableError,
    find_database_url,
)
from wirebench.store.runs import list_runs

NAME = "20261121T101500Z-quick"


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the index where it is by default."""
    monkeypatch.delenv("WIREBENCH_DATABASE_URL", raising=False)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of three records, in a folder of its own."""
    return RunBuilder(blocks=3, cells=[cell("rest")], samples=20).write(tmp_path / "results")


def test_an_index_is_no_run(run: Run) -> None:
    """Its files lie beside the runs, and are taken for none."""
    folder = run.folder.parent
    with Index(find_database_url(folder)) as index:
        index.catch_up(folder)
        assert {"index.db", "index.db-wal", "index.db-shm", NAME} == {path.name for path in folder.iterdir()}
        assert [run] == list(list_runs(folder))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@127.0.0.1:1/wirebench",
        "postgresql://me:s3cret@127.0.0.1:port/wirebench",
        "postgresql://127.0.0.1:1/wirebench?password=s3cret",
        "postgresql://me:x@s3cret@127.0.0.1:1/wirebench",
        "postgresql://me:x@h/s3cret?y@127.0.0.1:1/wirebench",
        "mysql://me:s3cret@127.0.0.1/wirebench",
        "s3cret",
        "sqlite:////proc/none/index.db",
    ],
)
def test_a_url_that_leads_nowhere_costs_a_run_one_warning(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the password."""
    monkeypatch.setenv("WIREBENCH_DATABASE_URL", url)
    warnings: list[str] = []
    update_index(run.folder, warnings.append)
    (warning,) = warnings
    assert "the run isn't in the index: `wirebench serve` adds what is missing" in warning
    assert "s3cret" not in warning


def test_an_index_that_is_damaged_is_replaced(run: Run) -> None:
    """It is a cache: the folders have all that was in it."""
    folder = run.folder.parent
    (folder / "index.db").write_bytes(b"no database, but longer than the header of one" * 100)
    with Index(find_database_url(folder)) as index:
        assert index.is_new
        assert 1 == index.catch_up(folder).runs


def test_a_file_that_was_never_a_database_stays(tmp_path: Path) -> None:
    """It is another program's, and the variable names it by mistake."""
    notes = tmp_path / "notes.txt"
    notes.write_text("no database, but longer than the header of one" * 100)
    before = notes.read_text()
    with pytest.raises(IndexUnusableError) as error:
        Index(f"sqlite:///{notes}")
    assert "see what WIREBENCH_DATABASE_URL names: that file is not an index of wirebench" == error.value.hint
    assert before == notes.read_text()


def test_no_folder_is_made_for_an_index(tmp_path: Path) -> None:
    """One that is gone was perhaps mounted: what is empty in its place would be taken for it."""
    with pytest.raises(IndexUnusableError, match="unable to open"):
        Index(find_database_url(tmp_path / "gone"))
    assert [] == list(tmp_path.iterdir())


def test_a_run_of_no_name_is_passed_over(tmp_path: Path) -> None:
    """No address would lead to it."""
    for name in ("20261121T101500Z-my run", "20261121T101500Z-a,b"):
        RunBuilder(blocks=1, cells=[cell("rest")], samples=20, info={"id": name}).write(tmp_path)
    with Index(find_database_url(tmp_path)) as index:
        assert ["run.json: id: no run has such a name"] * 2 == [run.reason for run in index.catch_up(tmp_path).damaged]
        assert () == index.runs(Filters()).rows


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"cpu": "Some CPU", "cores": "2", "kernel": "Linux 6", "core_separation": "x"}, "Some CPU, 2 cores"),
        ({"cpu": "Some CPU", "cores": "1"}, "Some CPU, 1 core"),
        ({"cluster": "2 nodes, each Linux", "cpu": "x", "cores": "4000m, 4000m"}, "2 nodes, each Linux, 4000m, 4000m"),
        ({}, "unknown"),
    ],
)
def test_a_machine_has_one_name(machine: dict[str, str], expected: str) -> None:
    """What doesn't belong to the hardware doesn't belong to it."""
    assert expected == name_machine(machine)
