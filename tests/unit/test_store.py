"""The folder of a run: written as it goes, read back the same, and clear when it can't be read."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wirebench.errors import UsageError, WirebenchError
from wirebench.store import RunInfo, RunWriter, find_run, load_run, run_id


def info(name: str = "20260101T120000Z-quick", pid: int | None = None) -> RunInfo:
    """Return what is said of a run that has just begun."""
    return RunInfo(
        id=name,
        scenario="quick",
        scenario_text="question: q\n",
        question="q",
        command="wirebench run quick",
        target="local",
        seed=1,
        blocks=1,
        cells=1,
        status="running",
        reason="",
        pid=os.getpid() if pid is None else pid,
        started_at="2026-01-01T12:00:00+00:00",
        duration_s=None,
        measured_s=None,
        services_start_s=None,
        conformance_requests=0,
        conformance_mismatches=(),
        compare="transport",
        equivalence_margin=0.05,
        versions={},
        machine={},
        notes=(),
        commit=None,
    )


def test_a_run_is_named_after_its_start_and_its_question() -> None:
    """Names sort by time."""
    assert "20260102T030405Z-quick" == run_id("quick", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """What is said of a run survives the disk."""
    writer = RunWriter(tmp_path, info())
    writer.update(status="complete", duration_s=1.5)
    assert writer.info == load_run(writer.folder).info


def test_a_killed_run_is_incomplete(tmp_path: Path) -> None:
    """A run that says it is running, by a process that is gone, was killed."""
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    writer = RunWriter(tmp_path, info(pid=gone))
    assert ("incomplete", "it was killed") == (
        load_run(writer.folder).info.status,
        load_run(writer.folder).info.reason,
    )


def test_the_last_run_is_found(tmp_path: Path) -> None:
    """`last` is the newest; a name and a folder do as well."""
    RunWriter(tmp_path, info("20260101T120000Z-quick"))
    newest = RunWriter(tmp_path, info("20260102T120000Z-quick"))
    assert newest.folder == find_run("last", tmp_path).folder
    assert newest.folder == find_run("20260102T120000Z-quick", tmp_path).folder
    assert newest.folder == find_run(str(newest.folder), tmp_path).folder


@pytest.mark.parametrize("name", ["last", "nothing", "../.."])
def test_a_run_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """The message says what to do."""
    with pytest.raises(UsageError) as error:
        find_run(name, tmp_path)
    assert error.value.hint


@pytest.mark.parametrize("content", ["", "{", "{}", '{"schema_version": "wirebench.run/2"}'])
def test_a_damaged_run_is_named(tmp_path: Path, content: str) -> None:
    """A file that can't be read gives one line with its name."""
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(WirebenchError, match=r"run\.json"):
        load_run(tmp_path)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    """A results folder below a file is refused in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(WirebenchError, match="can't write"):
        RunWriter(tmp_path / "file", info())


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    """A second run of the same name, begun in the same second, is refused and harms nothing."""
    first = RunWriter(tmp_path, info())
    with pytest.raises(WirebenchError, match="File exists"):
        RunWriter(tmp_path, info())
    assert first.info == load_run(first.folder).info
