"""What is said of comparisons: verdicts, what withholds them, summaries, and what a step does for two services."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.report_run import GENERATOR_GATE, SAMPLES_GATE, RunBuilder, cell, passed, worker_cells
from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.analysis.pair import judge
from wirebench.analysis.ratio import Ratio
from wirebench.model.cell import Cell
from wirebench.model.metric import METRICS
from wirebench.present import sentences


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """One comparison: socket against REST."""
    (only,) = find_comparisons(RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path))
    return only


def test_transports_on_other_runtimes_are_told_apart(tmp_path: Path) -> None:
    """Two REST runtimes against gRPC are two sentences that don't say the same."""
    cells = [cell("rest"), cell("rest", runtime="uvicorn"), cell("grpc")]
    said = [sentences.describe_comparison(each) for each in find_comparisons(RunBuilder(cells=cells).write(tmp_path))]
    assert ["gRPC is faster than REST", "gRPC is faster than REST on uvicorn"] == sorted(
        text.split(": ")[1] for text in said
    )


@pytest.mark.parametrize(
    ("compared", "cells", "situation", "sides"),
    [
        (
            "workers",
            [cell("rest", workers=count, store="postgres") for count in (1, 4)],
            "REST users.get, 16 connections, with postgres",
            ("4 workers", "1 worker"),
        ),
        (
            "http",
            [cell("rest", runtime="uvicorn", http=level) for level in (None, 2)],
            "REST users.get, 16 connections, on uvicorn",
            ("HTTP/1.1", "HTTP/2"),
        ),
    ],
)
def test_levels_of_other_factors_are_told_of_their_owner(
    tmp_path: Path, compared: str, cells: list[Cell], situation: str, sides: tuple[str, ...]
) -> None:
    """They are compared within a transport, which the situation names; each side is, also at its default."""
    (only,) = find_comparisons(RunBuilder(cells=cells, info={"compare": compared}).write(tmp_path))
    assert situation == sentences.describe_situation(only)
    assert all(side in sentences.describe_verdict(only) for side in sides)


def test_what_withholds_a_verdict_is_said_once_and_what_else_failed_beside_its_figure(tmp_path: Path) -> None:
    """A full generator withholds; that the p99 has too few samples besides is still to be known."""
    gates = (GENERATOR_GATE, SAMPLES_GATE)
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=gates).write(tmp_path)
    (only,) = find_comparisons(run)
    assert "withheld" == only.verdict
    assert 1 == sentences.describe_verdict(only).count("generator CPU")
    assert "the p99 (unreliable: samples)" in sentences.describe_verdict(only)


def test_a_summary_has_at_most_three_sentences(tmp_path: Path) -> None:
    """More pairs are counted, not listed."""
    cells = [cell("rest", workers=workers, store="postgres") for workers in (1, 2, 3, 4)]
    run = RunBuilder(cells=cells, info={"compare": "workers"}).write(tmp_path)
    said = sentences.summarise_comparisons(find_comparisons(run))
    assert 3 == len(said)
    assert "4 more pairs were compared." == said[-1]


def test_a_summary_of_mixed_verdicts_counts_them(comparison: Comparison) -> None:
    """Faster here and withheld there is neither; it says which of them the range is of."""
    withheld = dataclasses.replace(
        comparison, verdict="withheld", ratios={"throughput": Ratio(77.7, None, None, 1, None, None)}
    )
    inconclusive = dataclasses.replace(comparison, verdict="inconclusive")
    (only,) = sentences.summarise_comparisons([comparison, withheld, comparison])
    counts = "socket against REST: faster in 2 of 3 situations, no verdict in 1; measured in the other 2: "
    assert only.startswith(counts)
    assert "77.7" not in only
    (only,) = sentences.summarise_comparisons([comparison, withheld])
    assert only.startswith("socket against REST: faster in 1 of 2 situations, no verdict in 1; measured in the other: ")
    (only,) = sentences.summarise_comparisons([comparison, inconclusive])
    assert only.startswith("socket against REST: faster in 1 of 2 situations, inconclusive in 1; measured: ")


def test_a_summary_of_withheld_verdicts_counts_reasons_that_differ(comparison: Comparison) -> None:
    """A gate that failed in one situation isn't said of both."""
    one = dataclasses.replace(comparison, verdict="withheld", failed_gates=(GENERATOR_GATE,))
    other = dataclasses.replace(one, failed_gates=(GENERATOR_GATE, passed("samples", passed=False)))
    (only,) = sentences.summarise_comparisons([one, other])
    assert "in both situations (failed gates: generator CPU in 2, samples in 1)." in only
    (only,) = sentences.summarise_comparisons([one, one])
    assert "in both situations (failed gates: generator CPU)." in only


def test_noise_is_told_in_few_digits(comparison: Comparison) -> None:
    """An interval over seven orders of magnitude says no more than that."""
    noise = Ratio(18.04, low=0.0001, high=3254416.0, blocks=3, log_error=2.812, degrees_of_freedom=2)
    (noisy,) = judge([dataclasses.replace(comparison, ratios={"throughput": noise})], 0.05)
    said = sentences.describe_verdict(noisy)
    assert "18.0× (95 % CI <0.001–>1000) the requests/s" in said
    assert "At this noise level 3 blocks can't detect differences below 1000×; about 25 would decide it." in said


def test_a_difference_that_its_correction_leaves_open_is_said_to_be(comparison: Comparison) -> None:
    """The interval leaves out 1, and a reader asks why there is no verdict."""
    near = dataclasses.replace(comparison, ratios={"throughput": Ratio(1.2, 1.01, 1.43, 3, 0.0404, 2)})
    none = dataclasses.replace(comparison, ratios={"throughput": Ratio(1.0, 0.5, 2.0, 3, 0.161, 2)})
    said, _ = map(sentences.describe_verdict, judge([near, none], 0.05))
    assert "Alone it would be a difference, but not as one of 2 comparisons." in said
    assert "corrected for 2 comparisons (Benjamini–Hochberg)" in sentences.describe_certainty(judge([near, none], 0.05))
    assert "" == sentences.describe_certainty(judge([near], 0.05))


def test_a_figure_beside_the_verdict_that_is_noise_is_not_told(comparison: Comparison) -> None:
    """What the verdict is on is told whatever its interval."""
    noise = dataclasses.replace(comparison.ratios["p99"], low=0.05, high=50.0)
    noisy = dataclasses.replace(comparison, ratios={**comparison.ratios, "p99": noise, "throughput": noise})
    assert ", p99 too noisy to compare, " in sentences.format_ratios(noisy)
    assert "(95 % CI 0.050–50.0) the requests/s" in sentences.format_ratios(noisy)
    assert "noisy" not in sentences.format_ratios(comparison)


def test_ranges_are_of_what_each_situation_is_judged_by(comparison: Comparison) -> None:
    """A rate that another situation's load has set says nothing."""
    rate = comparison.ratios["throughput"]
    ratios = {name: dataclasses.replace(rate, estimate=value) for name, value in (("p50", 0.5), ("throughput", 1.0))}
    other = dataclasses.replace(comparison, metric=METRICS["p50"], ratios=ratios)
    (said,) = sentences.summarise_comparisons([comparison, other])
    assert f"in both situations: {rate.estimate:.2f}× the requests/s, 0.50× the p50, " in said


@pytest.mark.parametrize(
    ("grpc_gain", "said"),
    [
        (2.0, "The change does more for gRPC than for REST: gRPC's ratio of requests/s is 2."),
        (0.5, "The change does less for gRPC than for REST: gRPC's ratio of requests/s is 0."),
        (1.0, "Inconclusive whether the change does more for gRPC or REST: gRPC's"),
    ],
)
def test_what_a_step_does_for_two_services_is_compared(tmp_path: Path, grpc_gain: float, said: str) -> None:
    """Beside what it does for each: the ratio of the two ratios, by block."""

    def speed_up(of: Cell) -> float:
        return (1.5 * grpc_gain if of.transport == "grpc" else 1.5) if of.workers == 2 else 1.0

    cells, info = worker_cells(), {"compare": "workers"}
    rest, grpc = find_comparisons(RunBuilder(cells, blocks=8, info=info, speed_up=speed_up).write(tmp_path))
    assert () == rest.gains
    (gain,) = grpc.gains
    ratio = gain.ratios["throughput"]
    assert grpc.ratios["throughput"].estimate / rest.ratios["throughput"].estimate == pytest.approx(ratio.estimate)
    assert grpc_gain == pytest.approx(ratio.estimate, rel=0.1)
    assert said in sentences.describe_verdict(grpc)


def test_a_gain_of_a_service_that_failed_a_gate_has_no_verdict(tmp_path: Path) -> None:
    """Of any of the four cells."""
    builder = RunBuilder(
        worker_cells(),
        info={"compare": "workers"},
        gates=lambda of, _: (GENERATOR_GATE if (of.transport, of.workers) == ("rest", 1) else passed(),),
    )
    _, grpc = find_comparisons(builder.write(tmp_path))
    assert grpc.verdict != "withheld"
    assert grpc.gains[0].verdict == "withheld"
    assert "No verdict on whether the change does more for gRPC or REST (failed gates: generator CPU)" in (
        sentences.describe_verdict(grpc)
    )
