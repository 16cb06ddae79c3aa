"""Budget files: what may be in them, and mistakes with their line and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.budget import LIMITED, read_budget

GOOD = """\
budgets:
  - cells: {operation: users.get, concurrency: [1, 16], rate_per_s: none}
    max: {p99_ms: 20, cpu_us_per_request: 300.5, failed: 0}
    min: {throughput_per_s: 500}
  - slower_than_base_max: 2.5 %
"""


def write(tmp_path: Path, text: str) -> Path:
    """Write a budget file."""
    path = tmp_path / "budget.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_budget_has_limits_by_metric_and_unit(tmp_path: Path) -> None:
    """Levels are texts; a percentage is a share."""
    budget, _ = read_budget(write(tmp_path, GOOD))
    first, second = budget.budgets
    assert {"operation": ("users.get",), "concurrency": ("1", "16"), "rate_per_s": ("none",)} == first.cells
    assert [
        ("max", "p99_ms", 20),
        ("max", "cpu_us_per_request", 300.5),
        ("max", "failed", 0),
        ("min", "throughput_per_s", 500),
    ] == list(first.list_limits())
    assert (None, 0.025) == (first.slower_than_base_max, second.slower_than_base_max)


def test_limits_are_for_figures_that_gates_watch() -> None:
    """Each key ends in the unit of its metric."""
    latencies = ["p50_ms", "p90_ms", "p95_ms", "p99_ms"]
    of_streams = ["item_rate_per_s", "first_item_ms", "gap_ms", "cpu_us_per_item"]
    of_searches = ["capacity_per_s", "capacity_core_per_s", "capacity_memory_per_s"]
    assert ["throughput_per_s", *latencies, "failed", "cpu_us_per_request", *of_searches, *of_streams] == list(LIMITED)


@pytest.mark.parametrize(
    ("was", "becomes", "said", "hint"),
    [
        (
            "p99_ms: 20",
            "p9_ms: 20",
            "budget.yaml:3: budgets.max.p9_ms: no such figure",
            "limits are for throughput_per_s, p50_ms",
        ),
        ("p99_ms: 20", "p99_9_ms: 20", "no such figure", "limits are for throughput_per_s, p50_ms"),
        ("p99_ms: 20", "p99_ms: fast", "budget.yaml:3: budgets.max.p99_ms: must be a number (it is 'fast')", "docs/in"),
        ("p99_ms: 20", "p99_ms: -1", "budgets.max.p99_ms: must be at least 0", "docs/in"),
        ("p99_ms: 20", "p99_ms: .inf", "budgets.max.p99_ms: must be", "docs/in"),
        ("p99_ms: 20", "p99_ms: 0", "budget.yaml:3: budgets.max.p99_ms: must be over 0", "only counts can be 0"),
        ("throughput_per_s: 500", "throughput_per_s: 1.0e+13", "must be at most 1000000000000", "docs/in"),
        ("operation:", "operations:", "budget.yaml:2: budgets.cells.operations: no such factor", "there are operation"),
        ("users.get", "[]", "budget.yaml:2: budgets.cells.operation: must have 1 to 100 levels", "docs/in"),
        ("users.get", "{a: b}", "budgets.cells.operation: must be a level or a list of levels", "docs/in"),
        ("users.get", "", "budgets.cells.operation: must be a level or a list of levels; `none`", "docs/in"),
        ("    min", "    mean", "budget.yaml:4: budgets.mean: no such key", "docs/in"),
        ("2.5 %", "0.025", "budget.yaml:5: budgets.slower_than_base_max: must be a percentage over 0", "docs/in"),
        ("2.5 %", "0 %", "must be a percentage over 0, at most 1000 %, such as 5 %", "docs/in"),
        ("2.5 %", "1001 %", "must be a percentage over 0, at most 1000 %, such as 5 %", "docs/in"),
        (
            "slower_than_base_max: 2.5 %",
            "cells: {}",
            "budget.yaml:5: budgets: has no limit: give max, min or",
            "docs/in",
        ),
        (GOOD, "budgets: []\n", "budget.yaml:1: budgets: must have at least 1", "docs/in"),
        (GOOD, "budgets: {}\n", "budget.yaml:1: budgets: must be a list", "docs/in"),
        (GOOD, "budgets:\n" + "  - {max: {failed: 0}}\n" * 101, "budgets: must have at most 100", "docs/in"),
        (GOOD, "budgets: [\n", "not valid YAML", "correct the line"),
        (GOOD, "", "a budget file is a mapping", "key: value"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, was: str, becomes: str, said: str, hint: str) -> None:
    """One line, and what to do next."""
    assert was in GOOD
    with pytest.raises(UsageError) as error:
        read_budget(write(tmp_path, GOOD.replace(was, becomes)))
    assert said in error.value.message
    assert hint in error.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With what it should be."""
    with pytest.raises(UsageError, match=r"nothing\.yaml: No such file"):
        read_budget(tmp_path / "nothing.yaml")
