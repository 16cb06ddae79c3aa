"""`wirebench check`: what it prints and writes, and the exit status that a build can rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed

MET, BROKEN = "  - {max: {failed: 0}, min: {throughput_per_s: 1}}\n", "  - {max: {p99_ms: 0.001}}\n"


def write(tmp_path: Path, budgets: str, *, blocks: int = 3, fit: bool = True) -> tuple[object, ...]:
    """Write a run and a budget file, and return the command that checks it."""
    gate = passed() if fit else GENERATOR_GATE
    RunBuilder(cells=[cell("rest")], blocks=blocks, samples=300, gates=(gate,)).write(tmp_path / "runs")
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "budget.yaml"
    path.write_text(f"budgets:\n{budgets}", encoding="utf-8")
    return "check", path, "--out", tmp_path / "runs"


def test_a_budget_that_is_kept_passes(tmp_path: Path) -> None:
    """With a table of limits and a sentence; also with --strict, which is about doubt alone."""
    status, shown, complaint = wirebench(*write(tmp_path, MET), "--strict")
    assert (0, "") == (status, complaint)
    assert all(text in shown for text in ("errors at most 0", "requests/s at least 1", "2 limits of 1 cell: 2 met."))


def test_a_broken_limit_fails(tmp_path: Path) -> None:
    """JUnit XML has a failure, Markdown has it first."""
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    status, shown, _ = wirebench(*write(tmp_path, MET + BROKEN), "last", "--junit", junit, "--markdown", markdown)
    assert 1 == status
    assert "• REST users.get, 16 connections: p99 at most 0.001 ms: broken; measured " in shown
    (failure,) = ET.parse(junit).iter("failure")  # noqa: S314 - our own
    assert "p99 at most 0.001 ms: broken; measured " in failure.attrib["message"]
    rows = [line for line in markdown.read_text().splitlines() if line.startswith("| ")]
    assert "| cell | limit | measured | verdict |" == rows[0]
    assert rows[2].startswith("| REST users.get, 16 connections | p99 at most 0.001 ms | ")
    assert rows[2].endswith("| **broken** |")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"blocks": 1}, "2 limits of 1 cell: 1 met, 1 undecided."),
        ({"fit": False}, "2 limits of 1 cell: 1 met, no verdict on 1."),
    ],
)
def test_what_is_neither_met_nor_broken_fails_if_asked_to(tmp_path: Path, run: dict[str, Any], said: str) -> None:
    """A single block decides nothing, and a failed gate withholds the verdict."""
    for strict, expected in (((), 0), (("--strict",), 1)):
        status, shown, _ = wirebench(*write(tmp_path / str(expected), MET, **run), *strict)
        assert expected == status
        assert said in shown


def test_programs_get_all_of_it(tmp_path: Path) -> None:
    """--json has figures with their intervals, verdicts and sentences."""
    status, shown, _ = wirebench(*write(tmp_path, BROKEN), "--json")
    found = json.loads(shown)
    (each,) = found["checks"]
    assert (1, "broken", "p99", "max", 0.001) == (
        status,
        *(each[key] for key in ("verdict", "metric", "bound", "limit")),
    )
    assert each["figure"]["low"] < each["figure"]["estimate"] < each["figure"]["high"]
    assert "1 limit of 1 cell: 1 broken." == found["summary"]


@pytest.mark.parametrize(
    ("budgets", "arguments", "said"),
    [
        ("  - {max: {p999: 1}}\n", (), "budget.yaml:2: budgets.max.p999: no such figure"),
        (
            "  - {slower_than_base_max: 5%}\n",
            (),
            "budget.yaml:2: budgets.slower_than_base_max: slower_than_base_max needs a run",
        ),
        ("  - {slower_than_base_max: 5%}\n", ("--base", "last"), "BASE and HEAD are the same run"),
        (MET, ("nothing",), "no run 'nothing'"),
    ],
)
def test_mistakes_are_wrong_usage(tmp_path: Path, budgets: str, arguments: tuple[str, ...], said: str) -> None:
    """One clear line, a next step, and status 2."""
    assert said in reject(*write(tmp_path, budgets), *arguments)
