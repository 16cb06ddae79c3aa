"""docs/replication.md: what rows of verdicts come to."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from benchmarks.replicate import page, verdicts
from benchmarks.replicate.__main__ import Job, choose_job, main
from benchmarks.replicate.page import bound_share, find_right_verdict, write_page
from benchmarks.replicate.studies import SLOWER_PERCENT
from benchmarks.replicate.verdicts import Row, add_rows, compare_repeats, find_verdicts, read_rows
from tests.support.report_run import SAMPLES_GATE, RunBuilder, cell
from wirebench.plan import read_scenario
from wirebench.run.target_options import TargetOptions, plan_for_target
from wirebench.system.paths import ROOT

ROW = Row(
    study="copies",
    condition="quiet",
    run="20261123T120000Z-copies",
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
    monkeypatch.setattr(page, "PICTURE", tmp_path / "replication" / "copies.svg")
    monkeypatch.setattr(page, "PAGE", tmp_path / "replication.md")


def change(**changes: object) -> Row:
    """Return the row with changes."""
    return ROW.model_copy(update=changes)


def test_rows_are_read_as_they_were_added() -> None:
    """Those of earlier runs stay; an absent figure is read as None."""
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


def test_a_metric_whose_gate_failed_has_no_verdict(tmp_path: Path) -> None:
    """What requests/s say of the same two cells is no verdict on their p99."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=4, gates=(SAMPLES_GATE,)).write(tmp_path)
    found = {row.metric: row for row in find_verdicts("quick", "quiet", run)}
    assert "withheld" != found["throughput"].verdict
    assert ("withheld", "samples") == (found["p99"].verdict, found["p99"].failed_gates)


def test_the_interval_of_a_share_is_exact() -> None:
    """Without an event, the upper end solves (1 - p)ⁿ = 2.5 %."""
    low, high = bound_share(0, 400)
    assert 0 == low
    assert math.isclose(0.025, (1 - high) ** 400, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("metric", "truth", "verdict"),
    [
        ("throughput", 0.91, "slower"),
        ("throughput", 1.1, "faster"),
        ("cpu", 1.1, "slower"),
        ("cpu", 0.91, "faster"),
        ("cpu", 1.0, "equivalent"),
    ],
)
def test_the_right_verdict_of_a_known_difference(metric: str, truth: float, verdict: str) -> None:
    """More requests/s are better, more CPU a request is worse, and a copy is equivalent."""
    assert verdict == find_right_verdict(metric, truth)


def test_runs_take_turns_and_end_in_time() -> None:
    """The study with the smallest share of its runs is next, if its run ends before time is up."""
    copies, slower = Job("copies", "quiet", done=9, wanted=27), Job("slower", "busy", done=10, wanted=20)
    assert copies == choose_job([slower, copies], math.inf)
    assert slower == choose_job([slower, Job("copies", "quiet", done=20, wanted=27)], math.inf)
    assert copies == choose_job([slower, copies], copies.run_s)
    assert slower.run_s > copies.run_s
    assert copies == choose_job([Job("slower", "busy", done=0, wanted=20), copies], copies.run_s)
    assert choose_job([slower, copies], copies.run_s - 1) is None
    assert choose_job([], math.inf) is None


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf2", "1e9"])
def test_a_time_that_is_none_is_rejected(minutes: str) -> None:
    """Before anything is measured."""
    with pytest.raises(SystemExit) as ended:
        main(["--minutes", minutes])
    assert 2 == ended.value.code


def test_the_page_says_what_is_left() -> None:
    """How many runs of each study there are, are to be, and how long they take."""
    text = write_page([change(run=f"run-{number}") for number in range(3)]).read_text()
    assert "| `copies` | quiet | 3 | 27 |" in text
    assert "| `quick` | cluster | 0 | 3 |" in text
    assert "| `copies` | cluster" not in text


@pytest.mark.parametrize("study", ["copies", "slower"])
def test_studies_are_scenarios_that_can_be_planned(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of their services has copies, and what slows one down is known."""
    for percent in SLOWER_PERCENT:
        monkeypatch.setenv(f"LOOP_{percent}", "10")
    scenario = read_scenario(ROOT / "benchmarks" / "replicate" / f"{study}.yaml")
    plan = plan_for_target(scenario, TargetOptions())
    assert {"copies": 16, "slower": 5}[study] == len(plan.cells)


def test_false_alarms_are_those_of_what_was_judged() -> None:
    """What was withheld is counted apart, runs are counted besides, and the picture is written."""
    rows = [*[ROW] * 18, change(verdict="slower", low=0.8, high=0.9), change(run="another", verdict="withheld")]
    text = write_page(rows).read_text()
    shares = "19 | 1 | 5.3 % (0.1 %–26.0 %) | 1 | 1 | 100.0 % (2.5 %–100.0 %)"
    assert f"| quiet, `copies` | requests/s | 20 | {shares} | 0 | 1 |" in text
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
    assert "| quiet | requests/s | 10 % | 0.909× | 0.900× | 5 | 2 | 1 | 1 | 1 | 0 | 0 |" in text
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
            "c": ("slower", "withheld"),
        }.items()
        for number, verdict in enumerate(found)
    ]
    text = write_page(rows).read_text()
    for condition, label in itertools.product(("quiet", "busy"), ("requests/s", "p99")):
        assert f"| {condition} | {label} | 2 | 3 | 1 | 1 | 1 of 6 |" in text
