"""The folder of a run: written as it goes, read back the same, and clear when it can't be read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.report_run import RunBuilder, run_info
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.run_info import RunInfo
from wirebench.store.runs import RunWriter, find_run, load_run, make_run_id


def info(
    name: str = "20260101T120000Z-quick", pid: int | None = None, process_began_unix_s: float | None = None
) -> RunInfo:
    """Return what is said of a run that has just begun."""
    process = {"pid": os.getpid() if pid is None else pid, "process_began_unix_s": process_began_unix_s}
    return run_info(1, 1, {"id": name, "status": "running", "duration_s": None, **process})


def end_process() -> int:
    """Return the id of a process that is gone."""
    with subprocess.Popen(["true"]) as gone:
        return gone.pid


def test_a_killed_run_is_incomplete(tmp_path: Path) -> None:
    """A run that says it is running, by a process that is gone, or a number that none has, was killed."""
    for name, pid in (("gone", end_process()), ("none", 10**20)):
        found = load_run(RunWriter(tmp_path / name, info(pid=pid)).folder).info
        assert ("incomplete", "it was killed") == (found.status, found.reason)


@pytest.mark.parametrize("name", ["my scenario", "Été", "a,b", "a/b", "", "x" * 181])
def test_a_scenario_that_gives_no_name_is_rejected(name: str) -> None:
    """What isn't a name in an address, or is two in a list, is invalid; the error says what is valid."""
    with pytest.raises(UsageError, match="gives its runs no name") as error:
        make_run_id(name)
    assert "letters (a to z), digits" in error.value.hint


def test_a_number_that_another_process_has_is_not_the_run(tmp_path: Path) -> None:
    """Of this machine, or of the one that the run's folder was copied to."""
    began_unix_s = psutil.Process().create_time()
    for name, seconds_before, status in (("now", 0, "running"), ("before", 3600, "incomplete")):
        said = info(f"20260101T120000Z-{name}", process_began_unix_s=began_unix_s - seconds_before)
        assert status == load_run(RunWriter(tmp_path, said).folder).info.status


def test_runs_are_found_by_how_long_ago_by_name_and_by_folder(tmp_path: Path) -> None:
    """A name may be cut off, as long as it is that of one run alone; what can't be read counts as none."""
    names = ("20260101T120000Z-quick", "20260102T120000Z-quick", "20260102T130000Z-slow")
    first, second, last = (RunWriter(tmp_path, info(name)).folder for name in names)
    for name in ("last", names[2], str(last)):
        assert last == find_run(name, tmp_path).folder
    for name in ("last~1", "20260102T12"):
        assert second == find_run(name, tmp_path).folder
    (second / "run.json").write_text("[]")
    for name in ("last~1", "20260101"):
        assert first == find_run(name, tmp_path).folder
    with pytest.raises(UsageError, match=r"last~2: .* has 2 runs"):
        find_run("last~2", tmp_path)
    with pytest.raises(UsageError, match=r"2 runs in .* begin with '20260102'"):
        find_run("20260102", tmp_path)


def test_complete_runs_come_before_others_unless_asked_otherwise(tmp_path: Path) -> None:
    """What was stopped is of interest to those who resume or delete it."""
    statuses = {"20260101T120000Z-a": "complete", "20260102T120000Z-b": "complete", "20260103T120000Z-c": "incomplete"}
    first, second, stopped = (
        RunWriter(tmp_path, run_info(1, 1, {"id": name, "status": status})).folder for name, status in statuses.items()
    )
    found = [find_run(name, tmp_path).folder for name in ("last", "last~1", "last~2")]
    assert [second, first, stopped] == found
    assert stopped == find_run("last", tmp_path, prefers_complete=False).folder


@pytest.mark.parametrize("name", ["last", "last~1", "nothing", "", "../.."])
def test_a_run_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    """The message says what to do."""
    with pytest.raises(UsageError) as error:
        find_run(name, tmp_path)
    assert error.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", r"\w"),
        ("{", r"\w"),
        ('{"schema_version": "wirebench.run/2"}', r"\w"),
        ({"compare": "taste"}, "compare: must be 'transport', 'variant'"),
        ({"pid": "x"}, "pid: must be a valid integer"),
        ({"seed": None}, r"seed: must be a valid integer \(it is nothing\)"),
    ],
)
def test_what_is_wrong_in_a_run_is_said_in_plain_words(
    tmp_path: Path, text: str | dict[str, Any], expected: str
) -> None:
    """The file, the field, and what it must be."""
    path = RunWriter(tmp_path, info()).folder / "run.json"
    path.write_text(text if isinstance(text, str) else json.dumps(json.loads(path.read_text()) | text))
    with pytest.raises(WirebenchError, match=rf"run\.json: {expected}") as error:
        load_run(path.parent)
    assert error.value.hint.endswith("choose another run")


def test_a_record_without_a_factor_is_rejected(tmp_path: Path) -> None:
    """What lacks a factor can be compared with nothing: it is named when it is read."""
    folder = RunWriter(tmp_path, info()).folder
    data = json.loads(RunBuilder(blocks=1, samples=20).write(tmp_path / "other").records[0].model_dump_json())
    record = folder / "records" / "cell.json"
    record.write_text(json.dumps(data | {"factors": data["factors"] | {"transport": "pigeon"}}))
    with pytest.raises(WirebenchError, match=r"cell\.json: factors: no transport 'pigeon'"):
        load_run(folder)
    del data["factors"]["codec"]
    record.write_text(json.dumps(data))
    with pytest.raises(WirebenchError, match=r"cell\.json: factors: lacks codec"):
        load_run(folder)


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    """A second run of the same name, begun in the same second, is rejected and harms nothing."""
    first = RunWriter(tmp_path, info())
    with pytest.raises(WirebenchError, match="another run of this second is named"):
        RunWriter(tmp_path, info())
    assert first.info == load_run(first.folder).info
