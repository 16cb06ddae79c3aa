"""Sizes: from rates that keep an objective, by a law where there is one; a point that is left out is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.report_run import cell, passed
from tests.support.scaling_runs import draw_noise, grow, write_run
from wirebench.analysis.scaling import find_scalings
from wirebench.analysis.sizing import KeptRate, Shortfall, Size, SizingObjective, compute_sizes, find_kept_rate
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.record import CapacitySearch, Gate, Instrument, Record
from wirebench.model.run_info import Looks

HALF = SizingObjective(10_000, 50.0, 0.5)


def of_count(factor: str, **law: float) -> Callable[[Record], float]:
    """Return the rate of a record by a law over a factor, with noise."""
    noise = draw_noise(2, 0.01)
    return lambda record: grow(float(record.factors[factor] or 1), **law) * noise()


def size(
    folder: Path, cells: Sequence[Cell], rate: Callable[[Record], float], objective: SizingObjective
) -> list[Size]:
    """Return the sizes of a run of these cells."""
    return list(compute_sizes(write_run(folder, cells, rate), objective).sizes)


def test_replicas_add_up_where_there_is_no_law(tmp_path: Path) -> None:
    """At 1,000/s each and half of it used, 10,000/s take 20 replicas, 5 cores, and 20 times the memory of one."""
    (found,) = size(tmp_path, [cell("rest")], lambda _: 1000.0, HALF)
    assert (20, 20, 20) == (found.count.estimate, found.count.low, found.count.high)
    assert found.law is None
    assert found.is_extrapolated
    assert found.cores
    assert 5 == pytest.approx(found.cores.estimate)
    assert found.memory_bytes
    assert 20 * 61_000_000 == found.memory_bytes.estimate


def test_one_block_has_no_interval(tmp_path: Path) -> None:
    """Neither have the numbers that follow from it: more than was measured may be needed."""
    run = write_run(tmp_path, [cell("rest")], lambda _: 1000.0, blocks=1)
    (found,) = compute_sizes(run, SizingObjective(500, 50.0, 0.5)).sizes
    assert found.cores
    for figure, expected in ((found.kept.rate, 1000), (found.count, 1), (found.cores, 0.25)):
        assert [expected, -math.inf, math.inf] == pytest.approx([figure.estimate, figure.low, figure.high])
    assert found.is_extrapolated


def test_intervals_are_those_of_all_looks(tmp_path: Path) -> None:
    """A run that is repeated until its verdicts are settled has wider ones."""
    run = write_run(tmp_path, [cell("rest")], of_count("replicas"))
    repeated = replace(run, info=run.info.model_copy(update={"looks": Looks(blocks=(4, 6, 9))}))
    (once,), (several,) = (compute_sizes(each, HALF).sizes for each in (run, repeated))
    assert several.kept.rate.low < once.kept.rate.low < once.kept.rate.high < several.kept.rate.high


def test_replicas_follow_their_law(tmp_path: Path) -> None:
    """Contention needs more replicas than their sum says; the interval holds the true number."""
    cells = [cell("rest", replicas=level) for level in (1, 2, 4, 8)]
    truth = next(count for count in range(1, 99) if 0.5 * grow(count, sigma=0.02) >= 5000)
    (found,) = size(tmp_path, cells, of_count("replicas", sigma=0.02), SizingObjective(5000, 50, 0.5))
    assert found.law
    assert found.count.low <= truth <= found.count.high
    assert truth == pytest.approx(found.count.estimate, abs=1)
    assert found.count.estimate > 10
    assert found.is_extrapolated


def test_services_that_are_scaled_meanwhile_have_no_size_and_no_law(tmp_path: Path) -> None:
    """How many replicas served a rate isn't known of them."""
    cells = [cell("rest", replicas=count, replicas_max=16) for count in (1, 2, 4, 8)]
    run = write_run(tmp_path, cells, lambda record: grow(float(record.factors["replicas"] or 1)))
    assert () == compute_sizes(run, HALF).sizes
    assert () == find_scalings(summarise(run.records))


def test_a_law_that_never_reaches_the_rate_says_so(tmp_path: Path) -> None:
    """With a tenth of contention, ten times the rate of one is never passed."""
    cells = [cell("rest", replicas=level) for level in (1, 2, 4, 8)]
    (found,) = size(tmp_path, cells, of_count("replicas", sigma=0.1), HALF)
    assert math.inf == found.count.estimate == found.count.high


def test_a_replica_count_that_is_left_out_is_predicted(tmp_path: Path) -> None:
    """From 1 to 4 replicas, 8 are found for what 8 were simulated to serve, within one."""
    law = {"sigma": 0.03, "kappa": 0.001}
    cells = [cell("rest", replicas=level) for level in (1, 2, 3, 4)]
    (found,) = size(tmp_path, cells, of_count("replicas", **law), SizingObjective(0.7 * grow(8, **law), 50, 0.7))
    assert found.count.low <= 8 <= found.count.high
    assert 8 == pytest.approx(found.count.estimate, abs=1)


@pytest.mark.parametrize(("broken", "most"), [((1, 2, 4, 8), 8), ((1, 2), 2), ((), 8)])
def test_lower_bounds_have_no_law(tmp_path: Path, broken: tuple[int, ...], most: int) -> None:
    """Replicas that keep all rates that were asked for would seem to add nothing: the most that broke count."""
    cells = [cell("rest", replicas=level, rate_per_s=rate) for level in (1, 2, 4, 8) for rate in (1000, 2000)]

    def p99_ms(record: Record) -> float:
        is_broken = record.factors["replicas"] in broken and record.rate_asked_per_s == 2000
        return 100.0 if is_broken else 25.0

    noise = draw_noise(2, 0.01)
    run = write_run(tmp_path, cells, lambda record: (record.rate_asked_per_s or 0) * noise(), p99_ms)
    (found,) = compute_sizes(run, HALF).sizes
    assert most == found.kept.replicas
    assert (len(broken) == 4) == bool(found.law) == (not found.is_bounded)


def test_workers_are_sized_each_and_by_their_law(tmp_path: Path) -> None:
    """Each number of workers has its replicas; four numbers have a law, by which one replica is sized as well."""
    cells = [cell("rest", workers=level, cpu_limit_millicores=8000) for level in (1, 2, 4, 8)]
    found = size(tmp_path, cells, of_count("workers", sigma=0.01), HALF)
    assert [("replicas", 1), ("replicas", 2), ("replicas", 4), ("replicas", 8), ("workers", 8)] == [
        (each.factor, each.kept.workers) for each in found
    ]
    truth = next(count for count in range(1, 99) if 0.5 * grow(count, sigma=0.01) >= 10_000)
    assert found[-1].count.low <= truth <= found[-1].count.high


def test_workers_have_no_law_beyond_the_cores(tmp_path: Path) -> None:
    """Workers that share a core don't add up, whatever a law says."""
    cells = [cell("rest", workers=level, cpu_limit_millicores=4000) for level in (1, 2, 4, 8)]
    found = size(tmp_path, cells, of_count("workers", sigma=0.01), HALF)
    assert {"replicas"} == {each.factor for each in found}


@pytest.mark.parametrize(
    ("generator", "cores", "expected"),
    [((1,), "2", 1), ((2, 3, 4), "5", 2), ((2, 3), "64", 2), (None, "2", None), ((1,), "4000m", None)],
)
def test_a_replica_has_the_cores_that_the_generator_leaves(
    tmp_path: Path, generator: tuple[int, ...] | None, cores: str, expected: int | None
) -> None:
    """As many as the generator, or one less; it isn't known of services elsewhere."""
    records = write_run(tmp_path, [cell("rest")], lambda _: 1000.0, blocks=1).records
    (summary,) = summarise(
        record.model_copy(
            update={"generator": record.generator.model_copy(update={"cores": generator}), "machine": {"cores": cores}}
        )
        for record in records
    )
    found = find_kept_rate([summary], 50)
    assert isinstance(found, KeptRate)
    assert expected == found.cores


def test_figures_of_few_connections_or_an_inexact_driver_are_marked(tmp_path: Path) -> None:
    """1,500/s of 50 ms need 75 connections at most; an error counts from a tenth of the p99 on."""
    records = search(tmp_path, concurrency=64)
    for error_ms, p99_ms, expected in (
        (6.0, 50.0, (True, True)),
        (4.0, 50.0, (True, False)),
        (4.0, 42.0, (False, False)),
    ):
        instrument = Instrument(
            coarse=False, p50_error_ms=None, p99_error_ms=(0.0, error_ms), ceiling_per_s=None, ceiling_share=None
        )
        (summary,) = summarise(record.model_copy(update={"instrument": instrument}) for record in records)
        found = find_kept_rate([summary], 50)
        assert isinstance(found, KeptRate)
        assert expected == (found.may_lack_connections(p99_ms), found.is_inexact(p99_ms))
        assert not found.may_lack_connections(p99_ms, connections_max=80)


def climb(folder: Path, p99_ms: Callable[[Record], float], gates: dict[int, str] | None = None) -> KeptRate | Shortfall:
    """Return the rate kept within 50 ms of open loads of 1,000 to 4,000/s, at which a gate may fail."""

    def check(of: Cell, _: int) -> tuple[Gate, ...]:
        name = (gates or {}).get(of.rate_per_s or 0)
        return (passed(name or "error_rate", passed=name is None),)

    cells = [cell("rest", rate_per_s=rate) for rate in (1000, 2000, 4000)]
    run = write_run(folder, cells, lambda record: record.rate_asked_per_s or 0, p99_ms, gates=check)
    return find_kept_rate(summarise(run.records), 50)


def test_the_rate_is_interpolated_between_kept_and_broken(tmp_path: Path) -> None:
    """With 25 ms at 2,000/s and 100 ms at 4,000/s, 50 ms are halfway on logarithmic scales; the interval holds both."""
    p99_ms = {1000: 10.0, 2000: 25.0, 4000: 100.0}
    found = climb(tmp_path, lambda record: p99_ms[int(record.rate_asked_per_s or 0)])
    assert isinstance(found, KeptRate)
    assert 2000 * math.sqrt(2) == pytest.approx(found.rate.estimate)
    assert [2000, 4000] == pytest.approx([found.rate.low, found.rate.high])
    assert (False, False) == (found.is_least, found.is_closed)


def test_a_load_of_no_use_is_not_the_least(tmp_path: Path) -> None:
    """What a shortfall says of the p99 is of loads whose gates passed."""
    found = climb(tmp_path, lambda record: 2.0 if record.rate_asked_per_s == 1000 else 70.0, {1000: "interference"})
    assert isinstance(found, Shortfall)
    assert 70 == pytest.approx(found.p99_ms)


def test_a_rate_that_nothing_broke_is_the_least(tmp_path: Path) -> None:
    """Where all loads keep the objective, the highest is a lower bound."""
    found = climb(tmp_path, lambda _: 10.0)
    assert isinstance(found, KeptRate)
    assert 4000 == pytest.approx(found.rate.estimate)
    assert found.is_least


def search(folder: Path, concurrency: int = 16, **changes: object) -> list[Record]:
    """Return the records of a cell that was searched for its capacity: 1,500/s within 50 ms; changed in block 1."""
    run = write_run(folder, [cell("rest", shape="capacity", concurrency=concurrency)], lambda _: 1500.0, lambda _: 45.0)
    found = CapacitySearch(
        p99_ms=50, error_share=0.001, resolution=0.03, closed_rate_per_s=None, rate_kept_per_s=1500,
        rate_missed_per_s=1500, windows=(),
    )  # fmt: skip
    return [
        record.model_copy(update={"search": found.model_copy(update=changes) if record.block == 1 else found})
        for record in run.records
    ]


def test_a_search_that_kept_no_rate_in_a_block_has_no_capacity(tmp_path: Path) -> None:
    """The other blocks don't stand for it, and its last window is no load to climb."""
    found = find_kept_rate(summarise(search(tmp_path, rate_kept_per_s=None)), 50)
    assert isinstance(found, Shortfall)
    assert 1 == found.unkept_searches


@pytest.mark.parametrize(("asked_ms", "expected"), [(50.0, (1500.0, False)), (80.0, (1500.0, True)), (40.0, None)])
def test_a_capacity_is_the_rate_of_its_objective(
    tmp_path: Path, asked_ms: float, expected: tuple[float, bool] | None
) -> None:
    """What was searched for under 50 ms counts for 50 ms, is the least for 80 ms, and says nothing of 40 ms."""
    found = find_kept_rate(summarise(search(tmp_path)), asked_ms)
    assert expected == (
        (round(found.rate.estimate, 6), found.is_least) if isinstance(found, KeptRate) and not found.is_closed else None
    )


def test_an_overloaded_service_ends_the_climb_and_a_failed_generator_says_nothing(tmp_path: Path) -> None:
    """Dropped requests over the objective are the service's end; a full generator is no end of the service."""
    p99_ms = {1000: 10.0, 2000: 25.0, 4000: 900.0}

    def read(record: Record) -> float:
        return p99_ms[int(record.rate_asked_per_s or 0)]

    overloaded = climb(tmp_path / "service", read, {4000: "dropped_iterations"})
    full = climb(tmp_path / "generator", read, {4000: "generator_cpu"})
    assert isinstance(overloaded, KeptRate)
    assert isinstance(full, KeptRate)
    assert [2000, 2000] == pytest.approx([overloaded.rate.estimate, full.rate.estimate])
    assert (False, True) == (overloaded.is_least, full.is_least)
    # What it keeps lies between the last rate and the one that overloaded it.
    assert [2000, 4000] == pytest.approx([overloaded.rate.low, overloaded.rate.high])
    assert ((), ("generator_cpu",)) == (overloaded.failed_gates, full.failed_gates)


@pytest.mark.parametrize("gate", ["error_rate", "rate_error"])
def test_an_overload_ends_the_climb_whatever_its_p99(tmp_path: Path, gate: str) -> None:
    """Errors are often faster than replies; nothing beyond them was kept."""
    found = climb(tmp_path, lambda _: 10.0, {2000: gate})
    assert isinstance(found, KeptRate)
    assert 1000 == pytest.approx(found.rate.estimate)
    assert not found.is_least


def test_open_loads_are_climbed_for_each_number_of_connections(tmp_path: Path) -> None:
    """One connection breaks at 2,000/s, and 64 keep all rates: these count."""
    cells = [cell("rest", rate_per_s=rate, concurrency=level) for rate in (1000, 2000, 4000) for level in (1, 64)]

    def p99_ms(record: Record) -> float:
        return 900.0 if record.factors["concurrency"] == 1 and (record.rate_asked_per_s or 0) > 1000 else 10.0

    run = write_run(tmp_path, cells, lambda record: record.rate_asked_per_s or 0, p99_ms)
    found = find_kept_rate(summarise(run.records), 50)
    assert isinstance(found, KeptRate)
    assert 4000 == pytest.approx(found.rate.estimate)
    assert found.is_least


def test_loads_that_are_of_no_use_say_why(tmp_path: Path) -> None:
    """All failed a gate, or all took longer: the gates, or the least p99."""
    failed = climb(tmp_path / "gates", lambda _: 10.0, dict.fromkeys((1000, 2000, 4000), "interference"))
    slow = climb(tmp_path / "slow", lambda _: 70.0)
    assert isinstance(failed, Shortfall)
    assert isinstance(slow, Shortfall)
    assert (("interference",), ()) == (failed.failed_gates, slow.failed_gates)
    assert failed.p99_ms is None
    assert 70 == pytest.approx(slow.p99_ms)


def test_cross_checks_and_ramps_have_no_sizes(tmp_path: Path) -> None:
    """Of two drivers the first counts; ramps have no steady rate."""
    cells = [cell("grpc"), cell("grpc", driver="ghz"), cell("rest", shape="ramp", rate_per_s=100)]
    found = size(tmp_path, cells, lambda _: 1000.0, HALF)
    assert ["wireload"] == [each.kept.cell.factors["driver"] for each in found]
