"""What the terminal shows: tables of any width, lists, and how much is said."""

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
from wirebench.cli import dry_run
from wirebench.cli.console import make_console
from wirebench.cli.table import print_table
from wirebench.model.contract import TRANSPORTS
from wirebench.present.run import make_run_view
from wirebench.present.table import (
    FigureTable,
    TableColumn,
    TableGroup,
    TableRow,
    make_comparison_table,
    make_first_table,
)

HEADINGS = ["requests", "req/s", "mean", "p50", "p95", "p99", "max", "errors", "CPU/req"]


def show(shown: FigureTable, width: int) -> list[str]:
    """Return the lines of a table on a console of that width."""
    text = io.StringIO()
    console = make_console(text)
    console.width = width
    print_table(shown, console)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_table_has_a_line_for_each_cell(tmp_path: Path) -> None:
    """Grouped by operation and load; a note of all groups stands once, below them."""
    cells = [cell(each, concurrency=level) for level in (1, 64) for each in TRANSPORTS]
    builder = RunBuilder(cells, blocks=2, samples=999, gates=lambda of, _: (GENERATOR_GATE,) * (of.transport == "grpc"))
    lines = show(make_first_table(make_run_view(builder.write(tmp_path)).cells), 100)
    assert HEADINGS == lines[0].split()[: len(HEADINGS)]
    assert ["ms", "ms", "ms", "ms", "ms", "µs"] == lines[1].split()[:6]
    rows = ["REST", "gRPC", "socket"]
    expected = ["users.get, 1 connection", *rows, "users.get, 64 connections", *rows]
    assert [*expected, "  • gRPC: failed gates: generator CPU"] == [re.split(r" {3,}", line)[0] for line in lines[2:]]


def test_verdicts_are_a_table_that_fits_80_columns(tmp_path: Path) -> None:
    """Ratios by situation; what holds for all its rows is said once below them, and for some with their names."""
    failed = (GENERATOR_GATE.model_copy(update={"metrics": ("throughput",)}),)
    cells = [cell(each, concurrency=level) for level in (1, 16) for each in TRANSPORTS]
    builder = RunBuilder(cells, blocks=3, samples=1000, gates=lambda of, _: failed * (of.concurrency == 1))
    headings, unit, *lines = show(make_comparison_table(make_run_view(builder.write(tmp_path)).comparisons), 80)
    assert max(map(len, lines)) <= 80
    assert ["verdict", "req/s", "p99", "CPU/req"] == headings.split()
    assert "on req/s" == unit.strip()
    assert ["users.get, 1 connection", "gRPC / REST", "socket / REST", "socket / gRPC"] == [
        line.partition("  ")[0] for line in lines[:4]
    ]
    assert "  • withheld (failed gates: generator CPU)" == lines[4]
    assert re.fullmatch(r"gRPC / REST +faster( +[\d.]+× [\d.]+–[\d.]+){3}", lines[6])


@pytest.mark.parametrize(("width", "shown"), [(44, 5), (60, 7), (80, 9)])
def test_no_number_is_broken_on_a_narrow_terminal(tmp_path: Path, width: int, shown: int) -> None:
    """Columns that matter less are left out."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=1).write(tmp_path)
    wide, narrow = (show(make_first_table(make_run_view(run).cells), columns) for columns in (200, width))
    assert width >= max(map(len, narrow))
    headings = [word for word in narrow[0].split() if word in HEADINGS]
    assert shown == len(headings)
    figures = dict(zip(HEADINGS, wide[2].split()[1:10], strict=True))
    assert [figures[heading] for heading in headings] == narrow[2].split()[1 : 1 + shown]


def test_where_numbers_leave_little_room_names_are_wrapped_at_words() -> None:
    """No number is broken, whatever the width."""
    rows = (TableRow("a name of many words", ("1,234,567",), (), ()),)
    table = FigureTable((TableColumn("req/s", "", str),), (TableGroup("", rows),), "cell")
    for width in (20, 30):
        assert ["a name of many", "words"] == [line.replace("1,234,567", "").strip() for line in show(table, width)[1:]]


def test_a_list_is_of_scenarios_or_runs(tmp_path: Path) -> None:
    """It has both under headings by default; an unknown word is rejected."""
    RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path)
    for what, expected in (((), (True, True)), (("scenarios",), (True, False)), (("runs",), (False, True))):
        shown = wirebench("list", *what, "--out", tmp_path).stdout
        assert expected == ("Scenarios" in shown, f"Runs in {tmp_path}" in shown)
    assert "no runs in" in wirebench("list", "runs", "--out", tmp_path / "none")[1]
    assert "'cells' is not one of 'scenarios', 'runs'" in reject("list", "cells")


def test_what_a_scenario_needs_that_is_not_here_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cluster and server, and tools."""
    monkeypatch.setattr(dry_run, "KUBECONFIG", tmp_path / "none")
    monkeypatch.setattr(dry_run, "POSTGRES_URL", tmp_path)
    listed = json.loads(wirebench("list", "scenarios", "--json", "--out", tmp_path).stdout)["scenarios"]
    needs = {each["scenario"]: each["needs"] for each in listed}
    assert ([], ["cluster (missing)"], ["PostgreSQL"]) == (needs["quick"], needs["placement"], needs["ledger"])


def test_a_reader_of_stderr_may_leave() -> None:
    """What is still said there is lost, and nothing else: a run is measured to its end."""
    program = "import os; from wirebench.cli.log import LOG; read, write = os.pipe(); os.close(read); os.dup2(write, 2)"
    done = run_program([sys.executable, "-c", f"{program}; LOG.info('said'); print('done')"])
    assert "done\n" == done.stdout


@pytest.mark.parametrize("option", ["--quiet", "--verbose", ""])
def test_a_quiet_command_says_less_and_a_verbose_one_more(option: str, tmp_path: Path) -> None:
    """Notes, and the programs that are started with their logs."""
    program = f"""
from wirebench.cli.log import LOG
from wirebench.cli.options import Verbosity
from wirebench.system import processes
from pathlib import Path
Verbosity("{option}" == "--quiet", "{option}" == "--verbose").apply()
LOG.info("note: something")
LOG.warning("careful")
processes.start("sleeper", ["true"], Path("{tmp_path}/true.log")).wait(10)
"""
    said = run_program([sys.executable, "-c", program], check=True).stderr
    note, started = "note: something\n", f"started sleeper: true; log: {tmp_path}/true.log\n"
    expected = {"--quiet": (False, False), "--verbose": (True, True), "": (True, False)}[option]
    assert (*expected, True) == (note in said, started in said, "warning: careful\n" in said)


def test_a_stdout_that_is_not_utf_8_shows_the_rest(tmp_path: Path) -> None:
    """What its encoding lacks is escaped."""
    RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path)
    command = [sys.executable, "-m", "wirebench.cli", "results", "--out", str(tmp_path)]
    done = run_program(command, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (0, "") == (done.returncode, done.stderr)
    assert "\\xb5s" in done.stdout
