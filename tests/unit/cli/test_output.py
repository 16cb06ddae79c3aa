"""What the commands show of runs, whole and damaged, and that they delete what is named alone."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.command_line import Terminal, reject, render_run, wirebench
from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import run_program
from wirebench.cli.console import make_console
from wirebench.cli.output import print_run
from wirebench.model.histogram_file import ErrorText
from wirebench.system.paths import list_scenarios


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a folder with two runs, the newer one damaged."""
    for name in ("20260101T000000Z-old", "20260102T000000Z-new"):
        RunBuilder(cells=[cell("rest")], blocks=1, info={"id": name, "question": "Is [it] whole?"}).write(tmp_path)
    (tmp_path / "20260102T000000Z-new" / "run.json").write_text('{"id": "202')
    return tmp_path


def test_what_cannot_be_printed_is_one_line(results: Path) -> None:
    """A disk that is full, and a stdout that is closed; who reads it may leave early without a word."""
    line = f"{sys.executable} -m wirebench.cli results 20260101T000000Z-old --out {results}"
    full, closed, left = (
        run_program(["bash", "-c", f"set -o pipefail; {line} {to}"]) for to in ("> /dev/full", ">&-", "| true")
    )
    assert (1, "error: can't write stdout: No space left on device") == (full.returncode, _last_error(full.stderr))
    assert (2, "error: stdout is closed") == (closed.returncode, _last_error(closed.stderr))
    assert left.returncode in (0, 1)
    assert "Traceback" not in f"{full.stderr}{closed.stderr}{left.stderr}"


@pytest.mark.parametrize("kind", ["file", "dangling"])
def test_a_folder_that_runs_cannot_be_written_to_is_found_at_once(tmp_path: Path, kind: str) -> None:
    """A file, or a link that leads nowhere: before anything is waited for or started."""
    path = tmp_path / kind
    if kind == "file":
        path.touch()
    else:
        path.symlink_to("nowhere")
    assert f"--out {path}: {path} is no folder that can be written to" in reject("run", "quick", "--out", path)


def _last_error(said: str) -> str:
    return [line for line in said.splitlines() if line.startswith("error: ")][-1]


def test_the_most_frequent_errors_are_shown(tmp_path: Path) -> None:
    """They have their counts in all blocks and the cells that met them, and can't steer the terminal."""
    texts = tuple(ErrorText(code="internal", message=f"\x1b[2J {n}", count=10 - n) for n in range(7))
    info = {"question": "[red]Which[/] [/x]?"}
    run = RunBuilder(blocks=2, samples=20, record={"error_texts": texts}, info=info).write(tmp_path)
    shown = render_run(run)
    lines = [line for line in shown.splitlines() if "[2J" in line]
    assert 5 == len(lines)
    assert "! 320× internal: \\x1b[2J 0 (16 cells, most in users.create, 1 connection: REST)" == lines[0]
    assert "! 2 more\n" in shown
    assert "[red]Which[/] [/x]?" in shown


def test_names_to_type_are_never_cut(results: Path) -> None:
    """They are whole on a narrow terminal too."""
    with patch.object(io, "StringIO", Terminal), patch.dict("os.environ", {"COLUMNS": "60"}):
        _, stdout, _ = wirebench("list", "--all", "--out", results)
    for name in (*list_scenarios(), "20260101T000000Z-old", "20260102T000000Z-new"):
        assert re.search(rf"(?m)^(\x1b\[\d+m)?{name} ", stdout), name


def test_damaged_runs_are_listed_with_the_reason(results: Path) -> None:
    """The others are listed as ever."""
    status, stdout, stderr = wirebench("list", "--out", results)
    assert (0, "") == (status, stderr)
    old, new = (next(line for line in stdout.splitlines() if name in line) for name in ("Z-old", "Z-new"))
    assert "1 of 1" in old
    assert "Is [it] whole?" in old
    assert "damaged" in new
    assert "can't be read: run.json: Invalid JSON" in new
    listed = json.loads(wirebench("list", "--out", results, "--json")[1])["runs"]
    assert ["complete", "damaged"] == [run["status"] for run in listed]
    assert listed[1]["reason"].startswith("run.json: Invalid JSON")


def test_scenarios_that_cannot_be_read_are_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of applications need wireload, which may not be built yet; no folder of runs is the empty text."""
    monkeypatch.setattr("wirebench.model.application.TOOLS", Path("/nowhere"))
    status, stdout, _ = wirebench("list", "scenarios", "--all")
    shown = next(line for line in stdout.splitlines() if line.startswith("podinfo"))
    assert (0, True) == (status, "can't be read: can't start wireload" in shown)
    assert "'--out': must be a folder, and is empty" in reject("list", "--out", "")


@pytest.mark.parametrize("command", [("results",), ("report", "--output", "/dev/null/x")])
def test_the_last_run_is_the_last_that_can_be_read(results: Path, command: tuple[str, ...]) -> None:
    """Who asks for the last one is told that a newer one can't be read."""
    _, stdout, stderr = wirebench(*command, "--out", results)
    damaged = results / "20260102T000000Z-new"
    assert f"warning: skipped {damaged}, which can't be read: run.json: Invalid JSON" in stderr
    assert ("Is [it] whole?" in stdout) == (command == ("results",))


def test_a_caveat_that_stands_on_the_terminal_is_not_repeated(tmp_path: Path) -> None:
    """A run has noted it while it was measured; others are still said."""
    run = RunBuilder(cells=[cell("rest")], blocks=1, info={"notes": ("one is known", "another is not")}).write(tmp_path)
    text = io.StringIO()
    print_run(run, make_console(text), ("one is known",))
    assert (False, True) == ("one is known" in text.getvalue(), "! another is not\n" in text.getvalue())


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write three runs."""
    for number in (1, 2, 3):
        RunBuilder([cell("rest")], blocks=1, samples=20, info={"id": f"2026010{number}-120000-quick"}).write(tmp_path)
    return tmp_path


def test_runs_that_are_named_are_deleted(runs: Path) -> None:
    """A run is named by its name, by how that begins, or as the last one."""
    ended = wirebench("delete", "20260102", "last", "--yes", "--out", runs)
    assert ended.status == 0, ended.stderr
    assert [path.name for path in runs.iterdir()] == ["20260101-120000-quick"]


@pytest.mark.parametrize(
    ("arguments", "message"), [(("20260102",), "nothing was deleted"), (("nothing", "--yes"), "no run 'nothing'")]
)
def test_without_a_yes_or_a_run_nothing_is_deleted(runs: Path, arguments: tuple[str, ...], message: str) -> None:
    """The error says what to do."""
    assert message in reject("delete", *arguments, "--out", runs)
    assert len(list(runs.iterdir())) == 3
