"""What is said of two cells that were compared: verdicts, what withholds them, checks by other drivers, and gains."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from tests.support.report_run import GENERATOR_GATE, SAMPLES_GATE, RunBuilder, cell, passed, worker_cells
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.pair import Comparison, judge
from wirebench.analysis.ratio import Ratio
from wirebench.model.cell import Cell
from wirebench.model.record import Gate
from wirebench.present.comparison import ComparisonView, describe_correction, make_comparison_view
from wirebench.present.facts import list_facts
from wirebench.present.run import make_run_view
from wirebench.present.table import make_comparison_table


def view_comparisons(folder: Path, builder: RunBuilder) -> list[ComparisonView]:
    """Write a run and return its comparisons as they are shown."""
    return list(map(make_comparison_view, find_comparisons(builder.write(folder))))


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """One comparison: socket against REST."""
    (only,) = find_comparisons(RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path))
    return only


def test_what_withholds_a_verdict_is_said_once_and_what_else_failed_below_the_ratios(tmp_path: Path) -> None:
    """A full generator withholds; that the p99 has too few samples besides is still to be known."""
    gates = (GENERATOR_GATE, SAMPLES_GATE)
    (only,) = view_comparisons(tmp_path, RunBuilder(cells=[cell("rest"), cell("socket")], gates=gates))
    assert "withheld" == only.verdict
    assert "no verdict on socket against REST (failed gates: generator CPU): " in only.sentence
    assert ("withheld (failed gates: generator CPU)", "p99: unreliable (samples)") == only.remarks
    assert {"p99": ("samples",)} == only.doubts


@pytest.mark.parametrize(("drifting", "verdict"), [({2}, "faster"), ({1, 3}, "withheld")])
def test_drift_withholds_a_verdict_if_most_windows_have_it(tmp_path: Path, drifting: set[int], verdict: str) -> None:
    """A service that warms up drifts in all of them; a machine that changes its speed, in some."""

    def drift(of: Cell, block: int) -> tuple[Gate, ...]:
        return (passed("drift", passed=of.transport == "socket" or block not in drifting),)

    (only,) = find_comparisons(RunBuilder([cell("rest"), cell("socket")], gates=drift).write(tmp_path))
    assert verdict == only.verdict


def test_what_is_inconclusive_has_the_blocks_that_would_decide_it_in_the_table(comparison: Comparison) -> None:
    """Beside the least ratio that these blocks can detect; the correction is named once."""
    near = dataclasses.replace(comparison, ratios={"throughput": Ratio(1.2, 1.01, 1.43, 3, 0.0404, 2)})
    none = dataclasses.replace(comparison, ratios={"throughput": Ratio(1.0, 0.5, 2.0, 3, 0.161, 2)})
    both = [make_comparison_view(each) for each in judge([near, none])]
    table = make_comparison_table(both)
    assert ["verdict", "req/s", "detectable", "to decide"] == [column.heading for column in table.columns]
    (row, _) = table.groups[0].rows
    assert both[0].significance
    assert ("inconclusive", f"{both[0].significance.blocks_needed}") == (row.figures[0], row.figures[-1])
    assert "corrected for 2 comparisons (Benjamini–Hochberg)" in describe_correction(both)
    assert "" == describe_correction([make_comparison_view(each) for each in judge([near])])


@pytest.mark.parametrize(
    ("margin_us", "margin", "verdict"),
    [(None, "5 %", "faster"), (3000, "3,000 µs", "faster"), (15000, "15,000 µs", "equivalent")],
)
def test_a_margin_may_be_a_time(tmp_path: Path, margin_us: float | None, margin: str, verdict: str) -> None:
    """That of the mean latency, where requests/s are compared: gRPC takes 5 ms of REST's 12 less."""
    run = RunBuilder([cell("rest"), cell("grpc")], info={"equivalence_margin_us": margin_us}).write(tmp_path)
    assert [verdict] == [each.verdict for each in find_comparisons(run)]
    facts = itertools.chain.from_iterable(list_facts(run.info).values())
    assert (
        f"levels of transport; differences within a margin of {margin} count as equivalent" == dict(facts)["compared"]
    )
    is_said = f"Differences within {margin} count as equivalent." in make_run_view(run).notes
    assert is_said == (verdict == "equivalent")


@pytest.mark.parametrize(
    ("grpc_gain", "conclusion"),
    [
        (2.0, "the change does more for gRPC than for REST: 2."),
        (0.5, "the change does less for gRPC than for REST: 0."),
        (1.0, "inconclusive whether the change does more for gRPC or REST: "),
    ],
)
def test_what_a_step_does_for_two_services_is_compared(tmp_path: Path, grpc_gain: float, conclusion: str) -> None:
    """Beside what it does for each: the ratio of the two ratios, by block."""

    def speed_up(of: Cell) -> float:
        return (1.5 * grpc_gain if of.transport == "grpc" else 1.5) if of.workers == 2 else 1.0

    builder = RunBuilder(worker_cells(), blocks=8, info={"compare": "workers"}, speed_up=speed_up)
    rest, grpc = view_comparisons(tmp_path, builder)
    assert () == rest.gains
    (gain,) = grpc.gains
    ratio = gain.ratios["throughput"]
    assert grpc.ratios["throughput"].estimate / rest.ratios["throughput"].estimate == pytest.approx(ratio.estimate)
    assert grpc_gain == pytest.approx(ratio.estimate, rel=0.1)
    assert gain.conclusion.startswith(conclusion)
    assert "the ratio of the requests/s" in gain.conclusion
    assert conclusion[1:] in grpc.remarks[-1]


def test_a_gain_of_a_service_that_failed_a_gate_has_no_verdict(tmp_path: Path) -> None:
    """Of any of the four cells."""
    builder = RunBuilder(
        worker_cells(),
        info={"compare": "workers"},
        gates=lambda of, _: (GENERATOR_GATE if (of.transport, of.workers) == ("rest", 1) else passed(),),
    )
    _, grpc = view_comparisons(tmp_path, builder)
    assert ("withheld", "withheld") != (grpc.verdict, grpc.gains[0].verdict)
    withheld = "no verdict on whether the change does more for gRPC or REST (failed gates: generator CPU)"
    assert grpc.gains[0].conclusion.startswith(withheld)


#: What `quick` drives: one driver for all, and for two transports one that users know.
CHECKED = (
    cell("rest", driver="wireload"),
    cell("grpc", driver="wireload"),
    cell("socket", driver="wireload"),
    cell("rest", driver="k6"),
    cell("grpc", driver="ghz"),
)


def test_two_drivers_of_a_service_each_check_the_verdict_of_one_that_drove_both(tmp_path: Path) -> None:
    """k6 on REST and ghz on gRPC: what they come to together says whether the verdict depends on the driver."""
    views = view_comparisons(tmp_path, RunBuilder(cells=CHECKED))
    judged = [each for each in views if not each.instruments]
    assert [("wireload",)] * 3 == [each.drivers for each in judged]
    checks = {each.label: each.checks for each in judged}
    (check,) = checks.pop("gRPC / REST")
    assert ("ghz", "k6") == check.drivers
    assert [(), ()] == list(checks.values())
    (checked,) = (each for each in judged if each.checks)
    assert "Cross-check by ghz and k6: gRPC is faster than REST: 1." in checked.remarks[-1]
    assert ["k6 / wireload", "ghz / wireload"] == [each.label for each in views if each.instruments]
    assert {None} == {each.verdict for each in views if each.instruments}


def test_implementations_are_named_with_their_runtimes(tmp_path: Path) -> None:
    """Flask and uvicorn are both Python's: against Go each has its own name."""
    runtimes = (("python", "gunicorn-gthread"), ("python", "uvicorn"), ("go", "net-http"))
    cells = [cell("rest", implementation=implementation, runtime=runtime) for implementation, runtime in runtimes]
    builder = RunBuilder(cells=cells, info={"compare": "implementation"})
    assert ["Go / Python", "Go / Python with uvicorn"] == [each.label for each in view_comparisons(tmp_path, builder)]
