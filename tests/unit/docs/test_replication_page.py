"""docs/replication.md: what rows of verdicts come to."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from benchmarks.replicate import page, verdicts
from benchmarks.replicate.page import bound_share, find_right_verdict, write_page
from benchmarks.replicate.verdicts import Row, add_rows, compare_repeats, find_verdicts, read_rows
from tests.support.report_run import RunBuilder, cell

ROW = Row(
    study="same",
    condition="quiet",
    run="20261123T120000Z-same",
    commit="abc",
    comparison="users.get, 1 connection: rest-b / rest-a",
    metric="throughput",
    truth=1.0,
    ratio=1.01,
    low=0.9,
    high=1.1,
    verdict="inconclusive",
)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write nothing into docs/."""
    monkeypatch.setattr(verdicts, "VERDICTS", tmp_path / "replication" / "verdicts.csv")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "replication" / "same.svg")
    monkeypatch.setattr(page, "PAGE", tmp_path / "replication.md")


def change(**changes: object) -> Row:
    """Return the row with changes."""
    return ROW.model_copy(update=changes)


def test_rows_are_read_as_they_were_added() -> None:
    """Those of earlier runs stay; an absent figure is none."""
    add_rows([ROW])
    add_rows([change(ratio=None, low=None, high=None, verdict="withheld", failed_gates="drift samples")])
    assert [
        ROW,
        change(ratio=None, low=None, high=None, verdict="withheld", failed_gates="drift samples"),
    ] == read_rows()


def test_each_comparison_has_a_verdict_by_each_metric(tmp_path: Path) -> None:
    """Within a run; and across two, each cell has."""
    quiet, busy = (
        RunBuilder(
            cells=[cell("rest"), cell("grpc")], blocks=4, samples=50, seed=seed, info={"id": f"run-{seed}"}
        ).write(tmp_path / str(seed))
        for seed in (1, 2)
    )
    rows = list(find_verdicts("quick", "quiet", quiet))
    assert ["throughput", "p99", "cpu"] == [row.metric for row in rows]
    assert all(row.ratio and row.low and row.high and row.truth is None for row in rows)
    across = list(compare_repeats("quick", "busy", quiet, busy))
    assert 6 == len(across)
    assert {"busy / quiet"} == {row.condition for row in across}
    assert {1.0} == {row.truth for row in across}


def test_the_interval_of_a_share_is_exact() -> None:
    """Without an event, the upper end solves (1 - p)ⁿ = 2.5 %."""
    low, high = bound_share(0, 400)
    assert 0 == low
    assert math.isclose(0.025, (1 - high) ** 400, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("metric", "truth", "verdict"),
    [("throughput", 0.91, "slower"), ("throughput", 1.1, "faster"), ("cpu", 1.1, "slower"), ("cpu", 0.91, "faster")],
)
def test_the_right_verdict_of_a_known_difference(metric: str, truth: float, verdict: str) -> None:
    """More requests/s are better, more CPU a request is worse."""
    assert verdict == find_right_verdict(metric, truth)


def test_false_alarms_are_those_of_what_was_judged() -> None:
    """What was withheld is counted apart, runs are counted besides, and the picture is written."""
    rows = [*[ROW] * 18, change(verdict="slower", low=0.8, high=0.9), change(run="another", verdict="withheld")]
    text = write_page(rows).read_text()
    shares = "19 | 1 | 5.3 % (0.1 %–26.0 %) | 1 | 1 | 100.0 % (2.5 %–100.0 %)"
    assert f"| quiet, the same service | requests/s | 20 | {shares} | 0 | 1 |" in text
    assert "interval misses 1" in page.PICTURE.read_text()


def test_slow_downs_are_found_missed_or_reversed() -> None:
    """By the direction of the verdict."""
    slow = change(
        study="slower", comparison="users.get, 16 connections: slower-by-10 / as-it-is", truth=1 / 1.1, ratio=0.9
    )
    verdicts = ("slower", "slower", "faster", "inconclusive", "equivalent")
    rows = [slow.model_copy(update={"verdict": verdict}) for verdict in verdicts]
    rows.append(slow.model_copy(update={"metric": "p99", "truth": None, "verdict": "slower"}))
    text = write_page(rows).read_text()
    assert "| quiet | requests/s | 10 % | 0.909× | 0.900× | 5 | 2 | 1 | 1 | 1 | 0 |" in text
    assert "| quiet | p99" not in text


def test_runs_that_contradict_each_other_are_counted() -> None:
    """One that says faster and one that says slower, of the same comparison."""
    rows = [
        change(
            study="quick",
            truth=None,
            metric=metric,
            condition=condition,
            comparison=name,
            run=f"run-{number}",
            verdict=verdict,
        )
        for metric, condition in itertools.product(("throughput", "p99"), ("quiet", "busy"))
        for name, found in {
            "a": ("faster", "slower"),
            "b": ("faster", "inconclusive"),
            "c": ("slower", "slower"),
        }.items()
        for number, verdict in enumerate(found)
    ]
    text = write_page(rows).read_text()
    for condition, label in itertools.product(("quiet", "busy"), ("requests/s", "p99")):
        assert f"| {condition} | {label} | 2 | 3 | 1 | 1 | 0 of 6 |" in text
