"""The report's parts: curves, scales, forest, numbers, and the words that it shares with the terminal."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.report_run import GENERATOR_GATE, RunBuilder, cell, passed, quick_cells
from wirebench.drivers.histogram import Histogram
from wirebench.report.charts import bars
from wirebench.report.charts.forest import INSTRUMENT_LANES, Forest
from wirebench.report.charts.style import styles, styles_of_lines
from wirebench.report.facts import command
from wirebench.report.latencies import curve_of, read_latencies
from wirebench.report.numbers import duration, moment, number
from wirebench.report.picture import bars_of
from wirebench.scenario.contract import Driver
from wirebench.stats import METRICS, Comparison, Ratio, compare, names, remarks, summarise, words
from wirebench.store import Gate, Run


def comparisons_of(run: Run) -> tuple[Comparison, ...]:
    """Return a run's comparisons."""
    return compare(summarise(run.records), run.info.compare, run.info.equivalence_margin)


def with_ratio(
    comparison: Comparison, estimate: float, low: float | None = None, high: float | None = None
) -> Comparison:
    """Return a comparison that has only this ratio, of throughput."""
    ratio = Ratio(estimate, low, high, blocks=3, detectable=None, degrees_of_freedom=None)
    return dataclasses.replace(comparison, ratios={"throughput": ratio})


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
    curve = curve_of(Histogram.of_values(np.arange(1, 5001) * 1000))
    assert curve is not None
    assert pytest.approx(500) == curve.one_in[-1]
    assert pytest.approx(4.99, rel=0.002) == curve.latency_ms[-1]
    assert pytest.approx(0.001, rel=0.002) == curve.latency_ms[0]


def test_too_few_samples_are_no_curve() -> None:
    """Of 19 samples not even the median has ten beyond it."""
    assert None is curve_of(Histogram.of_values(np.arange(1, 20)))
    assert None is not curve_of(Histogram.of_values(np.arange(1, 21)))


def test_a_quantile_without_ten_samples_beyond_is_absent(tmp_path: Path) -> None:
    """1,000 samples tell a p99 and no p99.9."""
    run = RunBuilder(cells=[cell("rest")], blocks=1, samples=1000).write(tmp_path)
    latencies, _ = read_latencies(run, summarise(run.records))
    (latency,) = latencies.values()
    assert latency.quantile_ms(0.99) is not None
    assert None is latency.quantile_ms(0.999)


def test_a_transport_has_one_colour_and_its_variants_differ_by_line(tmp_path: Path) -> None:
    """Two drivers of gRPC look related, and not the same."""
    looks = styles(summarise(RunBuilder(cells=quick_cells(), blocks=1, samples=30).write(tmp_path).records))
    assert {"REST", "gRPC", "gRPC by ghz", "socket"} == set(looks)
    assert looks["gRPC"].colour == looks["gRPC by ghz"].colour
    assert looks["gRPC"].dashes != looks["gRPC by ghz"].dashes
    assert 3 == len({look.colour for look in looks.values()})
    assert 3 == len({look.marker for look in looks.values()})


def test_lines_of_one_transport_differ_by_colour_and_marker() -> None:
    """A mark without a line says whose it is; where there are more lines than colours, none look the same."""
    looks = list(styles_of_lines(f"machine {number}" for number in range(30)).values())
    assert (6, 6) == (len({look.colour for look in looks[:6]}), len({look.marker for look in looks[:6]}))
    assert 30 == len({(look.colour, look.marker) for look in looks})


@pytest.mark.parametrize(("greatest", "low"), [(199.0, 0.0), (201.0, 10 / 1.5)])
def test_a_scale_is_linear_from_zero_unless_cells_lie_far_apart(greatest: float, low: float, tmp_path: Path) -> None:
    """Over 20× apart, a linear scale would hide the small ones."""
    run = RunBuilder(cells=[cell("rest")], blocks=1, samples=30).write(tmp_path)
    (style,) = styles(summarise(run.records)).values()
    scale = bars.scale([bars.Bar(style, each, (each,)) for each in (10.0, greatest)])
    assert low == scale.low
    assert (low > 0) == scale.is_log


def test_forest_places_are_on_a_log_scale_around_one(comparison: Comparison) -> None:
    """2× and 0.5× lie as far from 1×; the margin's band lies around it."""
    double = with_ratio(comparison, estimate=2.0, low=1.8, high=2.2)
    half = with_ratio(comparison, estimate=0.5, low=0.4, high=0.6)
    forest = Forest.of([double, half], margin=0.05)
    (right,), (left,) = forest.lanes(double), forest.lanes(half)
    assert pytest.approx(100) == left.at + right.at
    assert pytest.approx(100) == sum(forest.band)
    assert "1×" in [tick.label for tick in forest.ticks]


def test_an_interval_wider_than_the_plot_ends_at_its_edges(comparison: Comparison) -> None:
    """Two noisy blocks must not squeeze all other comparisons."""
    wide = with_ratio(comparison, estimate=1.1, low=0.001, high=1000.0)
    (lane,) = Forest.of([wide], margin=0.05).lanes(wide)
    assert (0, 100) == (lane.low, lane.high)
    assert lane.cut_low
    assert lane.cut_high
    (whole,) = Forest.of([wide], margin=0.05).lanes(with_ratio(comparison, estimate=1.1, low=1.0, high=1.2))
    assert not whole.cut_low
    assert not whole.cut_high


@pytest.mark.parametrize("reach", [1.0, 1.7, 3.0, 8.0, 40.0, 900.0])
def test_a_forest_has_a_few_numbers_whatever_its_reach(comparison: Comparison, reach: float) -> None:
    """Two to seven, so that they fit side by side on a phone."""
    ends = [with_ratio(comparison, estimate=estimate) for estimate in (reach, 1 / reach)]
    assert 2 <= len(Forest.of(ends, margin=0.05).ticks) <= 7


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (9.996, "10.0"), (123.4, "123"), (98765.4, "98,765")],
)
def test_numbers_have_three_digits_that_count(value: float | None, text: str) -> None:
    """And thousands apart."""
    assert text == number(value)


def test_durations_and_moments_read_well() -> None:
    """Minutes where there are any; UTC; and what is no moment stays as it is."""
    assert "8.25 s" == duration(8.25)
    assert "1 min 52 s" == duration(112.4)
    assert "2026-11-21 10:15 UTC" == moment("2026-11-21T11:15:00+01:00")
    assert "yesterday" == moment("yesterday")


def test_a_seed_in_the_command_is_not_told_twice(tmp_path: Path) -> None:
    """The command that was given may have named it."""
    info = RunBuilder(blocks=0, info={"command": "wirebench run q.yaml --seed 5", "seed": 5}).write(tmp_path).info
    assert "wirebench run q.yaml --seed 5" == command(info)


def test_a_name_says_what_is_not_the_default() -> None:
    """A cell at its transport's defaults has the transport's name, and names tell cells of one load apart."""
    assert "gRPC" == names.cell_name(cell("grpc").factors)
    assert "gRPC by ghz" == names.cell_name(cell("grpc", driver="ghz").factors)
    changed = cell("rest", runtime="uvicorn", workers=4, store="sqlite", connection="reopen")
    assert "REST on uvicorn, 4 workers, with sqlite, connections reopened" == names.cell_name(changed.factors)
    go = cell("grpc", implementation="go", runtime="grpc-go")
    assert "gRPC in Go" == names.cell_name(go.factors)


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
    assert "users.get (profile), 2 workers, with sqlite" == remarks.throughout(summaries)
    (only,) = comparisons_of(run)
    assert "users.get (profile), 16 connections, 2 workers, with sqlite" == words.situation(only)


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ((), "users.create (4,096), 100 requests/s over 16 users on 4 connections"),
        (("operation",), "a payload of 4,096, 100 requests/s over 16 users on 4 connections"),
        (("operation", "payload"), "100 requests/s over 16 users on 4 connections"),
        (("rate_per_s", "concurrency"), "users.create (4,096), on 4 connections"),
        (("operation", "payload", "rate_per_s", "concurrency", "connections"), ""),
    ],
)
def test_a_load_is_said_without_what_others_share(without: tuple[str, ...], expected: str) -> None:
    """Whatever is left is said in the same words."""
    one = cell("grpc", driver="ghz", operation="users.create", payload=4096, rate_per_s=100.0, connections=4)
    assert expected == names.load(one.factors, without)


def test_transports_on_other_runtimes_are_told_apart(tmp_path: Path) -> None:
    """Two REST runtimes against gRPC are two sentences that don't say the same."""
    cells = [cell("rest"), cell("rest", runtime="uvicorn"), cell("grpc")]
    said = [words.sentence(each) for each in comparisons_of(RunBuilder(cells=cells).write(tmp_path))]
    assert ["gRPC is faster than REST", "gRPC is faster than REST on uvicorn"] == sorted(
        text.split(": ")[1] for text in said
    )


def test_another_factor_is_told_of_its_owner(tmp_path: Path) -> None:
    """Workers are compared within a transport, which the situation names."""
    cells = [cell("rest", workers=workers, store="sqlite") for workers in (1, 4)]
    (only,) = comparisons_of(RunBuilder(cells=cells, info={"compare": "workers"}).write(tmp_path))
    assert "REST users.get, 16 connections, with sqlite" == words.situation(only)
    assert "4 workers" in words.claim(only)
    assert "1 worker" in words.claim(only)


def test_pools_are_told_by_their_size(tmp_path: Path) -> None:
    """A pool's size is said with its store, and as one of the sides of a comparison."""
    cells = [cell("rest", store="postgres", store_connections=size) for size in (1, 4)]
    assert "REST with postgres, 4 store connections" == names.cell_name(cells[1].factors)
    (only,) = comparisons_of(RunBuilder(cells=cells, info={"compare": "store_connections"}).write(tmp_path))
    assert "REST users.get, 16 connections, with postgres" == words.situation(only)
    assert "4 store connections and 1 store connection:" in words.claim(only)


def test_implementations_are_languages(tmp_path: Path) -> None:
    """What is compared are Go and Python; that each has runtimes of its own goes without saying."""
    cells = [cell("socket"), cell("socket", implementation="go", runtime="goroutines")]
    (only,) = comparisons_of(RunBuilder(cells=cells, info={"compare": "implementation"}).write(tmp_path))
    assert "socket users.get, 16 connections" == words.situation(only)
    assert "Go" in words.claim(only)
    assert "Python" in words.claim(only)


def test_a_figure_beside_the_verdict_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A verdict on throughput stands, but the p99 next to it rests on too few samples."""
    few = passed("samples", passed=False, value=300, limit=1000, unit="requests", metrics=("p99",))
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=lambda _cell, _block: (few,)).write(tmp_path)
    (only,) = comparisons_of(run)
    assert "faster" == only.verdict
    assert "the p99 (don't rely on it: samples)" in words.claim(only)
    assert {"requests/s": True, "p99": False, "CPU/request": True} == {
        lane.label: lane.fit for lane in Forest.of([only], margin=0.05).lanes(only)
    }


def test_what_withholds_a_verdict_is_said_once_and_what_else_failed_beside_its_figure(tmp_path: Path) -> None:
    """A full generator withholds; that the p99 has too few samples besides is still to be known."""
    busy = passed(
        "generator_cpu", passed=False, value=0.99, limit=0.9, unit="of its cores", metrics=("throughput", "p99")
    )
    few = passed("samples", passed=False, value=300, limit=1000, unit="requests", metrics=("p99",))
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=lambda _cell, _block: (busy, few)).write(tmp_path)
    (only,) = comparisons_of(run)
    assert "withheld" == only.verdict
    assert 1 == words.claim(only).count("generator CPU")
    assert "the p99 (don't rely on it: samples)" in words.claim(only)


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
    said = words.agreement(found)
    assert ["oha", "locust"] == [sentence.split()[0] for sentence in said]
    assert all("the p50" in sentence and "of k6, over 2 situations." in sentence for sentence in said)
    lanes = Forest.of(found, 0.05, INSTRUMENT_LANES).lanes(found[0])
    assert ["requests/s", "p50", "p99"] == [lane.label for lane in lanes]


def test_a_disagreement_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A generator without CPU time measures itself."""
    busy = passed("generator_cpu", passed=False, value=0.99, limit=0.9, unit="of its cores", metrics=("throughput",))
    assert "the requests/s (don't rely on it: generator CPU), " in words.claim(
        driven(tmp_path, "k6", "locust", gates=(busy,))[0]
    )


def test_a_summary_has_at_most_three_sentences(tmp_path: Path) -> None:
    """More pairs are counted, not listed."""
    cells = [cell("rest", workers=workers, store="sqlite") for workers in (1, 2, 3, 4)]
    run = RunBuilder(cells=cells, info={"compare": "workers"}).write(tmp_path)
    said = words.summary(comparisons_of(run))
    assert 3 == len(said)
    assert "4 more pairs were compared." == said[-1]


def test_a_summary_of_mixed_verdicts_counts_them(comparison: Comparison) -> None:
    """Faster here and withheld there is neither."""
    withheld = dataclasses.replace(comparison, verdict="withheld")
    (only,) = words.summary([comparison, withheld, comparison])
    assert only.startswith("socket against REST: faster in 2 of 3 situations, no verdict in 1; measured ")


def test_a_sentence_begins_with_a_capital_but_names_keep_their_own() -> None:
    """There is no Grpc."""
    assert "Socket is faster" == names.capitalised("socket is faster")
    assert "gRPC is faster" == names.capitalised("gRPC is faster")
    assert "users.get, 1 connection" == names.capitalised("users.get, 1 connection")
    assert "ghz measured" == names.capitalised("ghz measured")


def test_noise_is_told_in_few_digits(comparison: Comparison) -> None:
    """An interval over seven orders of magnitude says no more than that."""
    noise = Ratio(18.04, low=0.0001, high=82755.8, blocks=3, detectable=14354.5, degrees_of_freedom=2)
    said = words.claim(dataclasses.replace(comparison, ratios={"throughput": noise}, verdict="inconclusive"))
    assert "18.0× (95 % CI <0.001–>1000) the requests/s" in said
    assert "don't see differences under 1000×" in said


def test_a_report_s_charts_are_hollow_where_a_gate_failed(tmp_path: Path) -> None:
    """Which looks a cell has says nothing of it: the legend is filled."""
    for name, gate, hollow in (("fit", passed(), 0), ("unfit", GENERATOR_GATE, 1)):
        run = RunBuilder([cell("rest")], blocks=1, samples=30, gates=lambda *_, gate=gate: (gate,)).write(
            tmp_path / name
        )
        cells = summarise(run.records)
        ((picture,), _) = bars_of(METRICS["throughput"], {"one load": cells}, styles(cells))
        assert hollow == picture.svg.count("fill: var(--paper)")


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
    assert "Cross-check by ghz and k6: the same verdict (1." in words.claim(checked)
    assert ("other drivers lead to the same verdict in 1 of 1 cross-check.",) == words.cross_checks(found)
    other = dataclasses.replace(checked, checks=(dataclasses.replace(checked.checks[0], verdict="slower"),))
    assert "Cross-check by ghz and k6: another verdict, gRPC is slower than REST (1." in words.claim(other)
    assert ("other drivers lead to the same verdict in 0 of 1 cross-check.",) == words.cross_checks([other])


def test_a_cross_check_that_failed_a_gate_has_no_verdict(tmp_path: Path) -> None:
    """A driver that was full says nothing for or against the verdict of another."""
    run = RunBuilder(
        cells=CHECKED, gates=lambda of, _block: (GENERATOR_GATE if of.driver == "ghz" else passed(),)
    ).write(tmp_path)
    (checked,) = (each for each in comparisons_of(run) if each.checks)
    assert "faster" == checked.verdict
    assert "Cross-check by ghz and k6: no verdict on gRPC against REST (failed gates: generator CPU)" in words.claim(
        checked
    )
    assert () == words.cross_checks([checked])
