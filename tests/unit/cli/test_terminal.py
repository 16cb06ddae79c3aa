"""What the terminal shows: tables of any width, lists, completions, colours, and how much is said."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from tests.support.waiting import run_program
from wirebench.cli.console import make_console
from wirebench.cli.progress_bar import ProgressBar
from wirebench.cli.table import print_table
from wirebench.cli.verbosity import is_quiet, note, set_verbosity
from wirebench.model.contract import TRANSPORTS
from wirebench.present.run import make_run_view
from wirebench.present.table import FigureTable, make_comparison_table, make_first_table
from wirebench.system import processes

HEADINGS = ["requests", "req/s", "mean", "p50", "p95", "p99", "max", "errors", "CPU/req"]


def show(shown: FigureTable, width: int) -> list[str]:
    """Return the lines of a table on a console of that width."""
    text = io.StringIO()
    console = make_console(text)
    console.width = width
    print_table(shown, console)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_table_has_a_line_for_each_cell(tmp_path: Path) -> None:
    """Grouped by operation and load, with the gates that failed below."""
    cells = [cell(each, concurrency=level) for level in (1, 64) for each in TRANSPORTS]
    builder = RunBuilder(cells=cells, blocks=2, gates=lambda of, _: (GENERATOR_GATE,) * (of.transport == "grpc"))
    lines = show(make_first_table(make_run_view(builder.write(tmp_path)).cells), 100)
    assert HEADINGS == lines[0].split()[: len(HEADINGS)]
    assert ["ms", "ms", "ms", "ms", "ms", "µs"] == lines[1].split()[:6]
    first = ["users.get, 1 connection", "REST", "gRPC", "socket", "  • gRPC: failed gates: generator CPU"]
    assert [*first, "users.get, 64 connections", *first[1:]] == [re.split(r" {3,}", line)[0] for line in lines[2:]]


def test_verdicts_are_a_table_that_fits_80_columns(tmp_path: Path) -> None:
    """Ratios by situation; what holds for all its rows is said once below them, and for some with their names."""
    failed = (GENERATOR_GATE.model_copy(update={"metrics": ("throughput",)}),)
    cells = [cell(each, concurrency=level) for level in (1, 16) for each in TRANSPORTS]
    builder = RunBuilder(cells=cells, blocks=3, gates=lambda of, _: failed * (of.concurrency == 1))
    headings, unit, *lines = show(make_comparison_table(make_run_view(builder.write(tmp_path)).comparisons), 80)
    assert max(map(len, lines)) <= 80
    assert ["verdict", "req/s", "p99", "CPU/req"] == headings.split()
    assert "on req/s" == unit.strip()
    assert ["users.get, 1 connection", "gRPC / REST", "socket / REST", "socket / gRPC"] == [
        line.partition("  ")[0] for line in lines[:4]
    ]
    assert "  • withheld (failed gates: generator CPU)" == lines[4]
    assert re.fullmatch(r"gRPC / REST +faster( +[\d.]+× [\d.]+–[\d.]+){3}", lines[6])


@pytest.mark.parametrize(("width", "shown"), [(20, 5), (60, 7), (70, 9)])
def test_no_number_is_broken_on_a_narrow_terminal(tmp_path: Path, width: int, shown: int) -> None:
    """Columns that matter less are left out; where not even the others fit, each figure has a line."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=1).write(tmp_path)
    wide, narrow = (show(make_first_table(make_run_view(run).cells), columns) for columns in (200, width))
    assert width >= max(map(len, narrow))
    headings = [word for line in narrow for word in line.split() if word in HEADINGS]
    assert shown == len(dict.fromkeys(headings))
    figures = dict(zip(HEADINGS, wide[2].split()[1:10], strict=True))
    words = [word for line in narrow for word in line.split()]
    assert {figures[heading] for heading in headings} <= set(words)


def test_a_list_is_of_scenarios_or_runs(tmp_path: Path) -> None:
    """It has both under headings by default; an unknown word is rejected."""
    RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path)
    for what, expected in (((), (True, True)), (("scenarios",), (True, False)), (("runs",), (False, True))):
        shown = wirebench("list", *what, "--out", tmp_path).stdout
        assert expected == ("Scenarios" in shown, f"Runs in {tmp_path}" in shown)
    assert ["runs"] == list(json.loads(wirebench("list", "runs", "--out", tmp_path, "--json")[1]))
    assert ["scenarios", "runs"] == list(json.loads(wirebench("list", "--out", tmp_path, "--json")[1]))
    assert "no runs in" in wirebench("list", "runs", "--out", tmp_path / "none")[1]
    assert "'cells' is not one of 'scenarios', 'runs'" in reject("list", "cells")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wirebench re", {"report", "results", "resume"}),
        ("wirebench results 2026", {"20260101T000000Z-old"}),
    ],
)
def test_bash_completes(tmp_path: Path, line: str, expected: set[str]) -> None:
    """Commands, options, choices and names of runs."""
    RunBuilder(cells=[cell("rest")], blocks=1, info={"id": "20260101T000000Z-old"}).write(tmp_path / "results")
    words = line.split(" ")
    asked = f"""
        wirebench() {{ {sys.executable} -m wirebench.cli "$@"; }}
        env() {{ command env "${{@:1:$#-1}}" {sys.executable} -m wirebench.cli; }}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
        _wirebench_completion wirebench
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    status, script, _ = wirebench("completion", "bash")
    done = run_program(["bash", "-c", script + asked], cwd=tmp_path, check=True)
    assert (0, "") == (status, done.stderr)
    assert expected == set(done.stdout.split())


def test_a_quiet_command_says_nothing_beside_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    """It says neither notes nor how far it is, which it does without the option."""
    for quiet in (True, False):
        set_verbosity(quiet=quiet, verbose=False)
        assert quiet == is_quiet()
        note("note: something")
        with ProgressBar("loading", 1) as bar:
            bar.update("loading", always=True)
        said = capsys.readouterr().err
        assert ("note: something\n" in said, "loading" in said) == (not quiet, not quiet)


def test_a_verbose_command_says_what_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the log of what runs beside it."""
    log = tmp_path / "true.log"
    for verbose in (True, False):
        set_verbosity(quiet=False, verbose=verbose)
        processes.run("printer", ["echo", "a b"], 10)
        processes.start("sleeper", ["true"], log).wait(10)
        said = capsys.readouterr().err
        assert (f"started printer: echo 'a b'\nstarted sleeper: true; log: {log}\n" if verbose else "") == said


def test_a_stdout_that_is_not_utf_8_shows_the_rest(tmp_path: Path) -> None:
    """What its encoding lacks is escaped."""
    RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path)
    command = [sys.executable, "-m", "wirebench.cli", "results", "--out", str(tmp_path)]
    done = run_program(command, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (0, "") == (done.returncode, done.stderr)
    assert "\\xb5s" in done.stdout
