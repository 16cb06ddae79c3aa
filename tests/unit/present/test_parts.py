"""What front ends share: curves, scales, forests, numbers and words."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed, quick_cells, worker_cells
from wirebench.analysis.compare_cells import Comparison, compare_cells
from wirebench.analysis.pair import judge
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.summary import summarise
from wirebench.model import labels as names
from wirebench.model.cell import Cell
from wirebench.model.contract import Driver
from wirebench.model.histogram import Histogram
from wirebench.model.metric import METRICS
from wirebench.model.record import Gate
from wirebench.present import remarks, sentences
from wirebench.present.charts.forest import draw_forests
from wirebench.present.charts.style import assign_styles, assign_styles_to_lines
from wirebench.present.charts.svg import WIDTH
from wirebench.present.facts import make_repeat_command
from wirebench.present.latencies import make_curve, read_latencies
from wirebench.present.numbers import format_duration, format_moment, format_number
from wirebench.present.picture import ChartSection, draw_answer, make_factor_sections
from wirebench.present.run_charts import group_cells
from wirebench.results.runs import Run


def comparisons_of(run: Run) -> tuple[Comparison, ...]:
    """Return a run's comparisons."""
    return compare_cells(summarise(run.records), run.info.compare, run.info.equivalence_margin)


def with_ratio(
    comparison: Comparison, estimate: float, low: float | None = None, high: float | None = None
) -> Comparison:
    """Return a comparison that has only this ratio, of throughput."""
    ratio = Ratio(estimate, low, high, blocks=3, log_error=None, degrees_of_freedom=None)
    return dataclasses.replace(comparison, ratios={"throughput": ratio})


def draw_forest(*comparisons: Comparison) -> list[Drawn]:
    """Return what a forest draws of each comparison."""
    return [Drawn(chart.svg) for charts in draw_forests(comparisons, 0.05).values() for chart in charts]


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """One comparison: socket against REST."""
    (only,) = comparisons_of(RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path))
    return only


def test_blocks_merge_by_adding_counts(tmp_path: Path) -> None:
    """A cell's latency is that of all its requests."""
    run = RunBuilder(cells=[cell("rest")], samples=1000).write(tmp_path)
    latencies, problems = read_latencies(run, summarise(run.records))
    (latency,) = latencies.values()
    assert () == problems
    assert 3000 == latency.merged.count
    assert 3 == len(latency.block_curves)


def test_a_curve_ends_where_fewer_than_ten_samples_lie_beyond() -> None:
    """Of 5,000 samples, the last point is exceeded by ten: one in 500."""
    curve = make_curve(Histogram.of_values(np.arange(1, 5001) * 1000))
    (_, least_ms), *_, (one_in, most_ms) = curve
    assert pytest.approx(500) == one_in
    assert pytest.approx((0.001, 4.99), rel=0.002) == (least_ms, most_ms)


def test_too_few_samples_are_no_curve() -> None:
    """Of 19 samples not even the median has ten beyond it."""
    assert [] == make_curve(Histogram.of_values(np.arange(1, 20)))
    assert make_curve(Histogram.of_values(np.arange(1, 21)))


def test_a_quantile_without_ten_samples_beyond_is_absent(tmp_path: Path) -> None:
    """1,000 samples tell a p99 and no p99.9."""
    run = RunBuilder(cells=[cell("rest")], blocks=1, samples=1000).write(tmp_path)
    latencies, _ = read_latencies(run, summarise(run.records))
    (latency,) = latencies.values()
    assert latency.quantile_ms(0.99) is not None
    assert None is latency.quantile_ms(0.999)


def test_a_transport_has_one_colour_and_its_variants_differ_by_line(tmp_path: Path) -> None:
    """Two drivers of gRPC style related, and not the same."""
    styles = assign_styles(summarise(RunBuilder(cells=quick_cells(), blocks=1, samples=30).write(tmp_path).records))
    assert {"REST", "gRPC", "gRPC by ghz", "socket"} == set(styles)
    assert styles["gRPC"].colour == styles["gRPC by ghz"].colour
    assert styles["gRPC"].dashes != styles["gRPC by ghz"].dashes
    assert 3 == len({style.colour for style in styles.values()})
    assert 3 == len({style.outline for style in styles.values()})


def test_lines_of_one_transport_differ_by_colour_and_marker() -> None:
    """A mark without a line says whose it is; where there are more lines than colours, none style the same."""
    styles = list(assign_styles_to_lines(f"machine {number}" for number in range(30)).values())
    assert (6, 6) == (len({style.colour for style in styles[:6]}), len({style.outline for style in styles[:6]}))
    assert 30 == len({(style.colour, style.outline) for style in styles})


def test_forest_places_are_on_a_log_scale_around_one(comparison: Comparison) -> None:
    """2× and 0.5× lie as far from 1×; the margin's band lies around it."""
    double = with_ratio(comparison, estimate=2.0, low=1.8, high=2.2)
    half = with_ratio(comparison, estimate=0.5, low=0.4, high=0.6)
    right, left = draw_forest(double, half)
    one = right.numbers("band", "x")[0] + right.numbers("band", "width")[0] / 2
    (over,), (under,) = (each.numbers("dot", "cx") for each in (right, left))
    assert one - under == pytest.approx(over - one, abs=0.3)
    assert "1×" in right.texts("scale")


def test_lanes_say_which_side_is_better(comparison: Comparison) -> None:
    """More requests/s and less latency are better; of two drivers neither is."""
    (drawn,) = draw_forest(comparison)
    assert ["req/s →", "p99 ←", "CPU/req ←"] == drawn.texts("label")
    assert "p99 (less is better) " in drawn.description
    (drawn,) = draw_forest(dataclasses.replace(comparison, instruments=True))
    assert ["req/s", "p50", "p99"] == drawn.texts("label")


def test_an_interval_wider_than_the_forest_ends_at_its_edges(comparison: Comparison) -> None:
    """Two noisy blocks must not squeeze all other comparisons; arrows show that it continues."""
    wide = with_ratio(comparison, estimate=1.1, low=0.001, high=1000.0)
    drawn, whole = draw_forest(wide, with_ratio(comparison, estimate=1.1, low=1.0, high=1.2))
    ((low,), (high,)) = drawn.numbers("interval", "x1"), drawn.numbers("interval", "x2")
    assert (True, True) == (low < drawn.numbers("band", "x")[0], high <= WIDTH)
    assert 2 == len(drawn.all("cut"))
    assert [] == whole.all("cut")


@pytest.mark.parametrize("reach", [1.0, 1.7, 3.0, 8.0, 40.0, 900.0])
def test_a_forest_has_a_few_numbers_whatever_its_reach(comparison: Comparison, reach: float) -> None:
    """Two to seven, so that they fit side by side on a phone."""
    ends = [with_ratio(comparison, estimate=estimate) for estimate in (reach, 1 / reach)]
    assert all(2 <= len(drawn.texts("scale")) <= 7 for drawn in draw_forest(*ends))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (9.996, "10.0"), (123.4, "123"), (98765.4, "98,765")],
)
def test_numbers_have_three_digits_that_count(value: float | None, text: str) -> None:
    """And thousands apart."""
    assert text == format_number(value)


def test_durations_and_moments_read_well() -> None:
    """Minutes where there are any; UTC; and what isn't a time stays as it is."""
    assert "8.25 s" == format_duration(8.25)
    assert "1 min 52 s" == format_duration(112.4)
    assert "2026-11-21 10:15 UTC" == format_moment("2026-11-21T11:15:00+01:00")
    assert "yesterday" == format_moment("yesterday")


def test_a_seed_in_the_command_is_not_told_twice(tmp_path: Path) -> None:
    """The command that was given may have named it."""
    info = RunBuilder(blocks=0, info={"command": "wirebench run q.yaml --seed 5", "seed": 5}).write(tmp_path).info
    assert "wirebench run q.yaml --seed 5" == make_repeat_command(info)


def test_a_name_says_what_is_not_the_default() -> None:
    """A cell at its transport's defaults has the transport's name, and names tell cells of one load apart."""
    assert "gRPC" == names.name_cell(cell("grpc").factors)
    assert "gRPC by ghz" == names.name_cell(cell("grpc", driver="ghz").factors)
    changed = cell("rest", runtime="uvicorn", workers=4, store="sqlite", connection="reopen")
    assert "REST on uvicorn, 4 workers, with sqlite, connections reopened" == names.name_cell(changed.factors)
    http_2 = cell("rest", runtime="granian", codec="protobuf", http=2)
    assert "REST on granian, over HTTP/2, with protobuf" == names.name_cell(http_2.factors)
    pool = cell("rest", store="postgres", store_connections=4)
    assert "REST with postgres, 4 store connections" == names.name_cell(pool.factors)
    go = cell("grpc", implementation="go", runtime="grpc-go")
    assert "gRPC in Go" == names.name_cell(go.factors)


def test_names_in_a_run_say_what_differs_there(tmp_path: Path) -> None:
    """What all cells share is said once; verdicts, which are read alone, say it all the same."""
    alike: dict[str, Any] = {"workers": 2, "store": "sqlite", "payload": "profile"}
    cells = [cell("rest", concurrency=count, **alike) for count in (1, 16)]
    run = RunBuilder(cells=[*cells, cell("grpc", codec="protobuf", **alike)], blocks=2).write(tmp_path)
    summaries = summarise(run.records)
    assert ["1 connection: REST", "16 connections: REST", "16 connections: gRPC"] == [
        each.full_name for each in summaries
    ]
    assert ["REST", "REST", "gRPC"] == [each.name for each in summaries]
    assert "users.get (profile), 2 workers, with sqlite" == remarks.describe_common_factors(summaries)
    (only,) = comparisons_of(run)
    assert "users.get (profile), 16 connections, 2 workers, with sqlite" == sentences.describe_situation(only)


def test_a_situation_names_what_varies_at_its_default_too(tmp_path: Path) -> None:
    """Where stores differ from cell to cell, a verdict on the one in memory says so; runtimes are a transport's own."""
    cells = [cell(transport, store=store) for transport in ("rest", "grpc") for store in ("memory", "postgres")]
    said = {sentences.describe_situation(each) for each in comparisons_of(RunBuilder(cells=cells).write(tmp_path))}
    assert {"users.get, 16 connections, in memory", "users.get, 16 connections, with postgres"} == said


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ((), "users.create (4,096), 4,800 requests/s over 16 users on 4 connections"),
        (("operation",), "a payload of 4,096, 4,800 requests/s over 16 users on 4 connections"),
        (("operation", "payload"), "4,800 requests/s over 16 users on 4 connections"),
        (("rate_per_s", "concurrency"), "users.create (4,096), on 4 connections"),
        (("operation", "payload", "rate_per_s", "concurrency", "connections"), ""),
    ],
)
def test_a_load_is_said_without_what_others_share(without: tuple[str, ...], expected: str) -> None:
    """Whatever is left is said in the same sentences."""
    one = cell("grpc", driver="ghz", operation="users.create", payload=4096, rate_per_s=4800.0, connections=4)
    assert expected == names.describe_situation(one.factors, without)


def test_transports_on_other_runtimes_are_told_apart(tmp_path: Path) -> None:
    """Two REST runtimes against gRPC are two sentences that don't say the same."""
    cells = [cell("rest"), cell("rest", runtime="uvicorn"), cell("grpc")]
    said = [sentences.describe_comparison(each) for each in comparisons_of(RunBuilder(cells=cells).write(tmp_path))]
    assert ["gRPC is faster than REST", "gRPC is faster than REST on uvicorn"] == sorted(
        text.split(": ")[1] for text in said
    )


@pytest.mark.parametrize(
    ("compared", "cells", "situation", "sides"),
    [
        (
            "workers",
            [cell("rest", workers=count, store="sqlite") for count in (1, 4)],
            "REST users.get, 16 connections, with sqlite",
            ("4 workers", "1 worker"),
        ),
        (
            "store_connections",
            [cell("rest", store="postgres", store_connections=size) for size in (1, 4)],
            "REST users.get, 16 connections, with postgres",
            ("4 store connections and 1 store connection:",),
        ),
        (
            "http",
            [cell("rest", runtime="granian", http=level) for level in (None, 2)],
            "REST users.get, 16 connections, on granian",
            ("HTTP/1.1", "HTTP/2"),
        ),
        (
            "implementation",
            [cell("socket"), cell("socket", implementation="go", runtime="goroutines")],
            "socket users.get, 16 connections",
            ("Go", "Python"),
        ),
    ],
)
def test_levels_of_other_factors_are_told_of_their_owner(
    tmp_path: Path, compared: str, cells: list[Cell], situation: str, sides: tuple[str, ...]
) -> None:
    """They are compared within a transport, which the situation names; each side is, also at its default."""
    (only,) = comparisons_of(RunBuilder(cells=cells, info={"compare": compared}).write(tmp_path))
    assert situation == sentences.describe_situation(only)
    assert all(side in sentences.describe_verdict(only) for side in sides)


def test_a_figure_beside_the_verdict_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A verdict on throughput stands, but the p99 next to it rests on too few samples."""
    few = passed("samples", passed=False, value=300, limit=1000, unit="requests", metrics=("p99",))
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=lambda _cell, _block: (few,)).write(tmp_path)
    (only,) = comparisons_of(run)
    assert "faster" == only.verdict
    assert "the p99 (unreliable: samples)" in sentences.describe_verdict(only)
    (drawn,) = draw_forest(only)
    hollow = ["unfit" in each.attrib["class"] for each in drawn.all("dot")]
    assert (["req/s →", "p99 ←", "CPU/req ←"], [False, True, False]) == (drawn.texts("label"), hollow)


def test_what_withholds_a_verdict_is_said_once_and_what_else_failed_beside_its_figure(tmp_path: Path) -> None:
    """A full generator withholds; that the p99 has too few samples besides is still to be known."""
    busy = passed(
        "generator_cpu", passed=False, value=0.99, limit=0.9, unit="of its cores", metrics=("throughput", "p99")
    )
    few = passed("samples", passed=False, value=300, limit=1000, unit="requests", metrics=("p99",))
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=lambda _cell, _block: (busy, few)).write(tmp_path)
    (only,) = comparisons_of(run)
    assert "withheld" == only.verdict
    assert 1 == sentences.describe_verdict(only).count("generator CPU")
    assert "the p99 (unreliable: samples)" in sentences.describe_verdict(only)


def driven(tmp_path: Path, *drivers: Driver, gates: tuple[Gate, ...] = ()) -> tuple[Comparison, ...]:
    """Return the comparisons of a run of two concurrencies by some drivers."""
    cells = [cell("rest", driver=driver, concurrency=count) for driver in drivers for count in (1, 16)]
    chosen = gates or (passed(),)
    builder = RunBuilder(cells=cells, info={"compare": "driver"}, gates=lambda _cell, _block: chosen)
    return comparisons_of(builder.write(tmp_path))


def test_drivers_are_held_against_k6_alone(tmp_path: Path) -> None:
    """Of three drivers, two are compared with k6 in each situation, and none with each other."""
    found = driven(tmp_path, "oha", "locust", "k6")
    assert all(each.instruments for each in found)
    pairs = sorted((each.baseline_level, each.subject_level) for each in found)
    assert [("k6", "locust"), ("k6", "locust"), ("k6", "oha"), ("k6", "oha")] == pairs


def test_drivers_without_k6_are_held_against_the_first(tmp_path: Path) -> None:
    """A cross-check needs a reference, whichever it is."""
    assert {("fortio", "oha")} == {
        (each.baseline_level, each.subject_level) for each in driven(tmp_path, "oha", "fortio")
    }


def test_how_far_drivers_agree_is_one_sentence_each(tmp_path: Path) -> None:
    """It spans all situations; each situation has its own sentence too."""
    found = driven(tmp_path, "k6", "oha", "locust")
    said = sentences.describe_agreement(found)
    assert ["oha", "locust"] == [sentence.split()[0] for sentence in said]
    assert all("the p50" in sentence and "of k6, over 2 situations." in sentence for sentence in said)


def test_a_disagreement_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A generator without CPU time measures itself."""
    busy = passed("generator_cpu", passed=False, value=0.99, limit=0.9, unit="of its cores", metrics=("throughput",))
    assert "the requests/s (unreliable: generator CPU), " in sentences.describe_verdict(
        driven(tmp_path, "k6", "locust", gates=(busy,))[0]
    )


def test_a_summary_has_at_most_three_sentences(tmp_path: Path) -> None:
    """More pairs are counted, not listed."""
    cells = [cell("rest", workers=workers, store="sqlite") for workers in (1, 2, 3, 4)]
    run = RunBuilder(cells=cells, info={"compare": "workers"}).write(tmp_path)
    said = sentences.summarise_comparisons(comparisons_of(run))
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


def test_a_sentence_begins_with_a_capital_but_names_keep_their_own() -> None:
    """There is no Grpc."""
    assert "Socket is faster" == names.capitalise("socket is faster")
    assert "gRPC is faster" == names.capitalise("gRPC is faster")
    assert "users.get, 1 connection" == names.capitalise("users.get, 1 connection")
    assert "ghz measured" == names.capitalise("ghz measured")


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


def test_a_sweep_draws_what_failed_a_gate_hollow_and_does_not_quote_it(tmp_path: Path) -> None:
    """A series whose p99 rests on too few requests isn't left out without a word."""
    too_few = passed("samples", passed=False, value=500, limit=1000, unit="requests", metrics=("p99",))
    cells = [cell(wire, concurrency=level) for wire in ("rest", "socket") for level in (1, 4, 16)]
    run = RunBuilder(
        cells, blocks=2, samples=500, gates=lambda of, _: (too_few if of.transport == "rest" else passed(),)
    ).write(tmp_path)
    (section,) = make_factor_sections(summarise(run.records)).values()
    assert ["REST", "socket"] == [style.name for style in section.legend]
    (p99,) = (Drawn(chart.svg) for chart in section.charts if chart.title.startswith("p99"))
    assert (2, 6, 3) == (len(p99.lines()), len(p99.marks()), len(p99.all("mark unfit")))
    rest, socket, *_ = remarks.write_answer(run, ())
    assert "requests/s; p99 withheld, failed gates: samples)" in rest
    assert " at the p99)" in socket


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
    found = comparisons_of(RunBuilder(cells=CHECKED).write(tmp_path))
    judged = [each for each in found if not each.instruments]
    assert [("wireload",)] * 3 == [each.drivers for each in judged]
    checks = {(each.subject_level, each.baseline_level): each.checks for each in judged}
    (check,) = checks.pop(("grpc", "rest"))
    assert ("ghz", "k6") == check.drivers
    assert [(), ()] == list(checks.values())
    assert [("wireload", "k6"), ("wireload", "ghz")] == [
        (each.baseline_level, each.subject_level) for each in found if each.instruments
    ]


def test_a_second_driver_of_both_services_checks_the_first(tmp_path: Path) -> None:
    """The verdict rests on the first driver, and is not given once more for each."""
    cells = [cell(transport, driver=driver) for transport in ("rest", "grpc") for driver in ("wireload", "k6")]
    judged = [each for each in comparisons_of(RunBuilder(cells=cells).write(tmp_path)) if not each.instruments]
    assert [("wireload",)] == [each.drivers for each in judged]
    assert [("k6",)] == [check.drivers for each in judged for check in each.checks]


def test_a_cross_check_says_whether_it_leads_to_the_same_verdict(tmp_path: Path) -> None:
    """So does the summary, which counts."""
    found = comparisons_of(RunBuilder(cells=CHECKED).write(tmp_path))
    (checked,) = (each for each in found if each.checks)
    assert "Cross-check by ghz and k6: the same verdict (1." in sentences.describe_verdict(checked)
    assert ("other drivers lead to the same verdict in 1 of 1 cross-check.",) == sentences.describe_cross_checks(found)
    other = dataclasses.replace(checked, checks=(dataclasses.replace(checked.checks[0], verdict="slower"),))
    assert "Cross-check by ghz and k6: another verdict, gRPC is slower than REST (1." in sentences.describe_verdict(
        other
    )
    said = "other drivers lead to the same verdict in 0 of 1 cross-check"
    assert (f"{said}.",) == sentences.describe_cross_checks([other])
    withheld = dataclasses.replace(checked, checks=(dataclasses.replace(checked.checks[0], verdict="withheld"),))
    assert (f"{said}; 1 more has no verdict.",) == sentences.describe_cross_checks([other, withheld])


def test_a_figure_beside_the_verdict_that_is_noise_is_not_told(tmp_path: Path) -> None:
    """What the verdict is on is told whatever its interval."""
    (found,) = comparisons_of(RunBuilder(cells=CHECKED[:2]).write(tmp_path))
    noise = dataclasses.replace(found.ratios["p99"], low=0.05, high=50.0)
    noisy = dataclasses.replace(found, ratios={**found.ratios, "p99": noise, "throughput": noise})
    assert ", p99 too noisy to compare, " in sentences.format_ratios(noisy)
    assert "(95 % CI 0.050–50.0) the requests/s" in sentences.format_ratios(noisy)
    assert "noisy" not in sentences.format_ratios(found)


def test_ranges_are_of_what_each_situation_is_judged_by(tmp_path: Path) -> None:
    """A rate that another situation's load has set says nothing."""
    (found,) = comparisons_of(RunBuilder(cells=CHECKED[:2]).write(tmp_path))
    ratios = {
        name: dataclasses.replace(found.ratios["throughput"], estimate=value)
        for name, value in (("p50", 0.5), ("throughput", 1.0))
    }
    other = dataclasses.replace(found, metric=METRICS["p50"], ratios=ratios)
    rate = found.ratios["throughput"].estimate
    (said,) = sentences.summarise_comparisons([found, other])
    assert f"in both situations: {rate:.2f}× the requests/s, 0.50× the p50, " in said


def test_a_cross_check_that_failed_a_gate_has_no_verdict(tmp_path: Path) -> None:
    """A driver that was full says nothing for or against the verdict of another."""
    run = RunBuilder(
        cells=CHECKED, gates=lambda of, _block: (GENERATOR_GATE if of.driver == "ghz" else passed(),)
    ).write(tmp_path)
    (checked,) = (each for each in comparisons_of(run) if each.checks)
    assert "faster" == checked.verdict
    assert (
        "Cross-check by ghz and k6: no verdict on gRPC against REST (failed gates: generator CPU)"
        in sentences.describe_verdict(checked)
    )
    assert () == sentences.describe_cross_checks([checked])


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
    rest, grpc = comparisons_of(RunBuilder(cells, blocks=8, info=info, speed_up=speed_up).write(tmp_path))
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
    _, grpc = comparisons_of(builder.write(tmp_path))
    assert grpc.verdict != "withheld"
    assert grpc.gains[0].verdict == "withheld"
    assert "No verdict on whether the change does more for gRPC or REST (failed gates: generator CPU)" in (
        sentences.describe_verdict(grpc)
    )


def answer_of(run: Run) -> ChartSection:
    """Return the picture that a run's report opens with."""
    groups = group_cells(summarise(run.records), run.info.compare)
    return draw_answer(groups, assign_styles(cell for cells in groups.values() for cell in cells))


def test_an_answer_over_levels_tells_many_services_apart(tmp_path: Path) -> None:
    """Also by a factor that tells groups of cells apart."""
    cells = [
        dataclasses.replace(cell(wire, workers=workers), tls=tls)
        for wire in ("rest", "grpc")
        for tls in ("none", "server")
        for workers in (1, 2, 4)
    ]
    found = answer_of(RunBuilder(cells, blocks=1, samples=50).write(tmp_path))
    assert 4 == len({style.name for style in found.legend}) == len(found.legend)


def test_a_report_opens_with_all_cells_in_one_picture(tmp_path: Path) -> None:
    """What verdicts are on, and what it costs the server: with intervals, and what failed a gate marked."""
    run = RunBuilder(gates=lambda of, _: (GENERATOR_GATE if of.transport == "socket" else passed(),)).write(tmp_path)
    rate, cpu = answer_of(run).charts
    assert ["requests/s", "Server CPU per request"] == [rate.title, cpu.title]
    drawn = Drawn(rate.svg)
    situations = [f"users.{name}, {load}" for name in ("create", "get") for load in ("1 connection", "16 connections")]
    assert situations == drawn.texts("title")
    assert 4 * ["REST", "gRPC", "gRPC by ghz", "socket !"] == drawn.texts("name")
    assert (16, 4, 48) == (len(drawn.all("interval")), len(drawn.all("mark unfit")), len(drawn.all("block")))


def test_what_a_scenario_sweeps_is_answered_over_its_levels(tmp_path: Path) -> None:
    """A line a transport, with a legend; an open load is judged by how long users wait."""
    cells = [cell(wire, concurrency=level, rate_per_s=100.0) for wire in ("rest", "socket") for level in (1, 4, 16)]
    found = answer_of(RunBuilder(cells, blocks=3, samples=1000).write(tmp_path))
    assert ["REST", "socket"] == [style.name for style in found.legend]
    assert ["p99, ms", "server CPU per request, µs"] == [panel.title.partition(":")[0] for panel in found.charts]
    for panel in found.charts:
        drawn = Drawn(panel.svg)
        assert (2, 6, 6) == (len(drawn.lines()), len(drawn.marks()), len(drawn.all("interval")))
