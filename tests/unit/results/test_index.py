"""The index of a folder of runs: what follows a run harms it in no way, and what the command says."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import run_program
from wirebench.errors import WirebenchError
from wirebench.model.labels import name_machine
from wirebench.results.index import (
    Filters,
    Index,
    IndexFollower,
    IndexUnusableError,
    find_database_url,
    without_password,
)
from wirebench.results.runs import Run, RunWriter, list_runs, load_run
from wirebench.system.signals import Interrupted

NAME = "20261121T101500Z-quick"


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the index where it is by default."""
    monkeypatch.delenv("WIREBENCH_DATABASE_URL", raising=False)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of three records, in a folder of its own."""
    return RunBuilder(blocks=3, cells=[cell("rest")], samples=20).write(tmp_path / "results")


def write_again(run: Run, folder: Path, follower: IndexFollower) -> Iterator[RunWriter]:
    """Write a run once more, with its index, and wait before each record and before the end."""
    writer = RunWriter(folder, run.info.model_copy(update={"status": "running"}), follower)
    shutil.copytree(run.folder / "histograms", writer.folder / "histograms", dirs_exist_ok=True)
    for record in run.records:
        yield writer
        writer.add(record)
    yield writer
    writer.update(status="complete")


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
        "postgresql://me:s3/cret@127.0.0.1/wirebench?x=y",
        "postgresql://127.0.0.1:1/wirebench?password=s3cret",
        "postgresql://me:x@s3cret@127.0.0.1:1/wirebench",
        "postgresql://me:x@s3/cret@127.0.0.1:1/s3cret",
        "postgresql://me:x@h/s3cret?y@127.0.0.1:1/wirebench",
        "mysql://me:s3cret@127.0.0.1/wirebench",
        "sqlite://me:s3cret@host/index.db",
        "s3cret",
        "sqlite://",
        "sqlite:////proc/none/index.db",
    ],
)
def test_a_url_that_leads_nowhere_costs_a_run_one_warning(
    run: Run, tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the password; all records are on disk. The command says the same, and is wrong usage or a failure."""
    warnings: list[WirebenchError] = []
    with IndexFollower(url, tmp_path, warnings.append) as follower:
        for _ in write_again(run, tmp_path, follower):
            pass
    (warning,) = warnings
    assert "s3cret" not in f"{warning.message} {warning.hint} {capsys.readouterr()}"
    assert (run.records, run.info) == (load_run(tmp_path / NAME).records, load_run(tmp_path / NAME).info)
    monkeypatch.setenv("WIREBENCH_DATABASE_URL", url)
    status, out, said = wirebench("index", "--out", tmp_path)
    assert (warning.exit_status, "") == (status, out)
    assert said == f"error: {warning.message}\nnext: {warning.hint}\n"
    assert "s3cret" not in wirebench("index", "--help")[1]


def test_a_url_is_named_without_its_password() -> None:
    """Nor the name of its user, or its options."""
    assert "postgresql://host:5/db" == without_password("postgresql://me:s3cret@host:5/db?password=s3cret")


def test_an_index_that_is_damaged_is_rebuilt(run: Run) -> None:
    """A run passes it over with one warning; `--rebuild` moves it aside."""
    folder = run.folder.parent
    (folder / "index.db").write_bytes(b"no database, but longer than the header of one" * 100)
    warnings: list[WirebenchError] = []
    with IndexFollower(find_database_url(folder), folder.parent, warnings.append) as follower:
        for _ in write_again(run, folder.parent, follower):
            pass
    assert ["`wirebench index --rebuild` rebuilds it"] == [warning.hint for warning in warnings]
    assert 1 == wirebench("index", "--out", folder)[0]
    assert (
        0,
        f"{folder}/index.db: 1 run, 1 cell, 3 records\nrebuilt\n",
        f"warning: {folder}/index.db was damaged, and is {folder}/index.db.damaged now\n",
    ) == wirebench("index", "--rebuild", "--out", folder)
    assert (folder / "index.db.damaged").read_bytes().startswith(b"no database")


def test_a_file_that_was_never_a_database_stays(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for: it is another program's, and the variable names it by mistake."""
    notes = tmp_path / "notes.txt"
    notes.write_text("no database, but longer than the header of one" * 100)
    monkeypatch.setenv("WIREBENCH_DATABASE_URL", f"sqlite:///{notes}")
    before = notes.read_text()
    for options in ((), ("--rebuild",)):
        status, out, said = wirebench("index", *options, "--out", run.folder.parent)
        assert (1, "") == (status, out)
        assert said.endswith("next: see what WIREBENCH_DATABASE_URL names: that file is not an index of wirebench\n")
    assert before == notes.read_text()
    assert ["notes.txt", "results"] == sorted(path.name for path in tmp_path.iterdir())


def test_damaged_files_take_no_place_from_each_other(run: Run) -> None:
    """Each gets a name of its own."""
    folder = run.folder.parent
    for content in (b"SQLite format 3\0 the first", b"SQLite format 3\0 the second"):
        (folder / "index.db").write_bytes(content * 1000)
        assert 0 == wirebench("index", "--rebuild", "--out", folder)[0]
    for name, content in (("index.db.damaged", b"the first"), ("index.db.damaged.2", b"the second")):
        assert content in (folder / name).read_bytes()


def test_an_index_that_is_removed_says_so(run: Run) -> None:
    """Who has it open reads nothing from an empty one; opened again, it is the one that is there."""
    folder = run.folder.parent
    with Index(find_database_url(folder)) as index:
        assert (True, False) == (index.is_new, index.is_lost())
        index.catch_up(folder)
        for path in folder.glob("index.db*"):
            path.unlink()
        assert index.is_lost()
        with pytest.raises(IndexUnusableError, match="was removed"):
            index.contents()
        with Index(find_database_url(folder)) as other:
            assert 1 == other.catch_up(folder).runs
        with pytest.raises(IndexUnusableError, match="another one is there now"):
            index.contents()
    with Index(find_database_url(folder)) as index:
        assert (False, 1) == (index.is_new, index.contents().runs)


def test_an_index_that_is_removed_gets_the_whole_run_in_the_end(run: Run, tmp_path: Path) -> None:
    """Removing it during a run costs the run one warning."""
    warnings: list[WirebenchError] = []
    with IndexFollower(find_database_url(tmp_path), tmp_path, warnings.append) as follower:
        steps = write_again(run, tmp_path, follower)
        next(steps)
        next(steps)
        for path in tmp_path.glob("index.db*"):
            path.unlink()
        list(steps)
    assert ["try again"] == [warning.hint for warning in warnings]
    with Index(find_database_url(tmp_path)) as index:
        assert 3 == index.contents().records


def test_no_folder_is_made_for_an_index(tmp_path: Path) -> None:
    """One that is gone was perhaps mounted: what is empty in its place would be taken for it."""
    with pytest.raises(IndexUnusableError, match="unable to open"):
        Index(find_database_url(tmp_path / "gone"))
    assert [] == list(tmp_path.iterdir())


def test_no_error_of_the_index_reaches_a_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even an unexpected one."""
    monkeypatch.setattr("wirebench.results.index.write.write_records", lambda *_: 1 / 0)
    warnings: list[WirebenchError] = []
    with IndexFollower(find_database_url(tmp_path), tmp_path, warnings.append) as follower:
        for _ in write_again(run, tmp_path, follower):
            pass
    assert ["the index has failed: ZeroDivisionError('division by zero')"] == [error.message for error in warnings]
    assert run.records == load_run(tmp_path / NAME).records


def test_a_disk_that_is_full_stops_no_run(run: Run, tmp_path: Path) -> None:
    """What fits is written: records take the place of the index, which is told once to be missing."""
    script = """
import pathlib, resource, shutil, sys
from wirebench.results.index import IndexFollower, find_database_url
from wirebench.results.runs import RunWriter, load_run
run, folder = load_run(pathlib.Path(sys.argv[1])), pathlib.Path(sys.argv[2])
warn = lambda error: print("warning:", error.message)
with IndexFollower(find_database_url(folder), folder, warn) as follower:
    writer = RunWriter(folder, run.info.model_copy(update={"status": "running"}), follower)
    shutil.copytree(run.folder / "histograms", writer.folder / "histograms", dirs_exist_ok=True)
    writer.add(run.records[0])
    size = (folder / "index.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    for record in run.records[1:]:
        writer.add(record)
    writer.update(status="complete")
"""
    done = run_program([sys.executable, "-c", script, run.folder, tmp_path])
    assert (0, "", 1) == (done.returncode, done.stderr, done.stdout.count("warning:"))
    assert run.records == load_run(tmp_path / NAME).records
    with Index(find_database_url(tmp_path)) as index:
        index.catch_up(tmp_path)  # what didn't fit at the end of the run either
        assert 3 == index.contents().records


def test_a_run_that_is_discarded_is_in_no_index(run: Run, tmp_path: Path) -> None:
    """Nothing of it was worth keeping."""
    with IndexFollower(find_database_url(tmp_path), tmp_path, lambda _: None) as follower:
        writer = next(write_again(run, tmp_path, follower))
        with Index(find_database_url(tmp_path)) as index:
            assert 1 == index.contents().runs
            writer.discard()
            assert 0 == index.contents().runs


def test_the_command_says_what_there_is(run: Run) -> None:
    """In words and as JSON; damaged runs are named, and runs that the folder hasn't."""
    folder = run.folder.parent
    found = f"{folder}/index.db: 1 run, 1 cell, 3 records\n"
    assert (0, f"{found}added: 1 run, 3 records\n", "") == wirebench("index", "--out", folder)
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    status, out, said = wirebench("index", "--out", folder)
    assert (0, f"{found}nothing was missing\n") == (status, out)
    assert said.startswith(f"warning: skipped {damaged}, which can't be read: run.json: ")
    run.folder.rename(folder.parent / "elsewhere")
    assert (
        f"{found}nothing was missing\n1 run not in the folder: --rebuild removes them\n"
        == wirebench("index", "--out", folder)[1]
    )
    status, out, _ = wirebench("index", "--rebuild", "--json", "--out", folder)
    data = json.loads(out)
    assert (0, {"runs": 0, "records": 0}, [NAME]) == (status, data["put"], data["not_in_folder"])
    assert (0, 0, 0, ["damaged"]) == (data["runs"], data["cells"], data["records"], [x["run"] for x in data["damaged"]])


def test_a_rebuild_takes_no_run_of_others_out(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a database is shared by several folders, only who says so does that."""
    url = f"sqlite:///{tmp_path}/shared.db"
    monkeypatch.setenv("WIREBENCH_DATABASE_URL", url)
    theirs = "20261122T101500Z-quick"
    RunBuilder(blocks=1, cells=[cell("rest")], samples=20, info={"id": theirs}).write(tmp_path / "theirs")
    ours = run.folder.parent
    for folder in (ours, tmp_path / "theirs"):
        assert 0 == wirebench("index", "--out", folder)[0]
    said = reject("index", "--rebuild", "--out", ours)
    assert said.startswith(f"error: {tmp_path}/shared.db has 1 run that {ours}/ hasn't: another folder's, perhaps\n")
    with Index(url) as index:
        assert 2 == index.contents().runs
    assert 0 == wirebench("index", "--rebuild", "--take-out", "--out", ours)[0]
    with Index(url) as index:
        assert [NAME] == [row.run_id for row in index.runs(Filters()).rows]
    reject("index", "--take-out", "--out", ours)


def test_a_run_of_no_name_is_passed_over(tmp_path: Path) -> None:
    """No address would lead to it."""
    for name in ("20261121T101500Z-my run", "20261121T101500Z-a,b"):
        RunBuilder(blocks=1, cells=[cell("rest")], samples=20, info={"id": name}).write(tmp_path)
    with Index(find_database_url(tmp_path)) as index:
        assert ["run.json: id: no run has such a name"] * 2 == [run.reason for run in index.catch_up(tmp_path).damaged]
        assert 0 == index.contents().runs


def test_a_rebuild_says_how_far_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In plain lines without a terminal; an interrupt says that nothing has changed."""
    folder = run.folder.parent
    monkeypatch.setattr("wirebench.cli.progress._PLAIN_INTERVAL_S", 0.0)
    assert "1 of 1 run, 3 records; 0:00 left\n" == wirebench("index", "--rebuild", "--out", folder)[2]

    def interrupt(*_: object) -> None:
        raise Interrupted("SIGINT")

    monkeypatch.setattr("wirebench.results.index.write.analyse", interrupt)
    status, out, said = wirebench("index", "--rebuild", "--out", folder)
    assert (130, "") == (status, out)
    assert said.endswith("left\nthe index is unchanged\ninterrupted\n")


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    """And isn't made."""
    reject("index", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


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
