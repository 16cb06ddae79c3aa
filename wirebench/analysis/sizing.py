"""How many replicas a rate needs under a latency objective, and what they cost, from the measured points of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import get_args

from wirebench.analysis.ratio import Ratio, mean
from wirebench.analysis.scaling_law import COUNT_MAX, LEVELS_MIN, Estimate, ScalingLaw, fit_common_blocks
from wirebench.analysis.series import LIMITING, OVERLOADED
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.errors import UsageError
from wirebench.model.contract import Driver
from wirebench.model.metric import METRICS
from wirebench.model.record import FAIRNESS_MIN
from wirebench.results.runs import Run

#: A replica is planned for this share of what it serves within the objective, unless another is asked for.
UTILISATION = 0.7
RATE_MAX_PER_S, P99_MAX_MS = 1e9, 600_000.0
#: Rates are means of logarithms: what lacks less than this share of a rate serves it.
_TOLERANCE = 1e-9
#: Where one of these failed, too, an overload may be that of the load generator or the machine.
_DISTURBED = LIMITING | {"interference", "dropped_packets", "shared_cores", "shared_host"}
#: The driver's error may be this share of the p99 to keep.
INSTRUMENT_SHARE_MAX = 0.1
#: What says how much of a service there is, and how much load on it.
_SIZE, _LOAD = ("replicas", "workers"), ("concurrency", "rate_per_s", "connections")
_RATE, _P99, _CPU = METRICS["throughput"], METRICS["p99"], METRICS["cpu"]
_DRIVERS: tuple[str, ...] = get_args(Driver)


@dataclass(frozen=True, slots=True)
class SizingObjective:
    """What is to be served: requests/s within a p99, each replica at most at this share of what it can serve so."""

    rate_per_s: float
    p99_ms: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class KeptRate:
    """The rate up to which a number of replicas and workers keeps the objective, in requests/s.

    `cell` is the one with the highest rate that was measured to keep it. `is_least`: no measured load broke it, so the
    rate may be higher; `failed_gates` are those of higher loads, which couldn't be used. `is_closed`: the load was
    closed, which never sends more than the service answers.
    """

    cell: CellSummary
    by_block: dict[int, float]
    rate: Estimate
    is_least: bool
    failed_gates: tuple[str, ...] = ()

    @property
    def replicas(self) -> int:
        return _read_count(self.cell, "replicas")

    @property
    def workers(self) -> int:
        return _read_count(self.cell, "workers")

    @property
    def cores(self) -> float | None:
        """How many cores a replica had: its limit, or those that the load generator left; None where it isn't known."""
        if limit := self.cell.factors["cpu_limit_millicores"]:
            return float(limit) / 1000
        record = self.cell.records[0]
        used, total = record.generator.cores, record.machine.get("cores", "")
        if used is None or not total.isdecimal():
            return None
        # Services have as many cores as the generator, or one less of an odd number.
        return len(used) if record.generator.shares_cores_with_server else min(len(used), int(total) - len(used))

    @property
    def is_oversubscribed(self) -> bool:
        """Whether it had more workers than cores: some of them could only wait."""
        return self.cores is not None and self.workers > self.cores

    @property
    def has_uneven_replicas(self) -> bool:
        """Whether some replicas had far more of the requests than others."""
        shares = (record.server.replica_fairness for record in self.cell.records)
        return any(share is not None and share < FAIRNESS_MIN for share in shares)

    def may_lack_connections(self, p99_ms: float, connections_max: int | None = None) -> bool:
        """Return whether more requests than connections would be in flight if all took as long as the p99.

        `connections_max` is how many the load may have opened, if it may have opened more.
        """
        connections = connections_max or float(self.cell.factors["concurrency"] or 0)
        return not self.is_closed and self.rate.estimate * p99_ms / 1000 > connections

    def is_inexact(self, p99_ms: float) -> bool:
        """Return whether the driver's own error of the p99 is a part of it that counts."""
        return any(abs(end) > INSTRUMENT_SHARE_MAX * p99_ms for end in self.cell.instrument_error_ms(_P99) or ())

    @property
    def is_closed(self) -> bool:
        return _is_closed(self.cell)

    @property
    def is_lower_bound(self) -> bool:
        """Whether a higher rate may keep the objective: what a full service answers to a closed load is its most."""
        return self.is_least and not self.is_closed


@dataclass(frozen=True, slots=True)
class Size:
    """What a rate needs of one variant.

    `count` is of replicas with `workers` each, or, where `factor` is workers, of the workers of one replica; infinite
    where the law never reaches the rate, and without ends from few blocks. `law` is None where replicas are taken to
    add up. `cores` are those that requests keep busy, `memory_bytes` is resident; None where they weren't read.
    `is_extrapolated`: it may be more than were measured. `is_bounded`: lower bounds among the rates leave no law.
    """

    factor: str
    kept: KeptRate
    law: ScalingLaw | None
    count: Estimate
    cores: Estimate | None
    memory_bytes: Estimate | None
    is_extrapolated: bool
    is_bounded: bool


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A variant at a size for which there is no rate, its cells, and the gates that keep all of them from being used.

    Without such a gate, every load took longer than the objective: `p99_ms` at the least. `unkept_searches` are the
    blocks in which a search for the capacity found no rate that kept its objective.
    """

    cell: CellSummary
    failed_gates: tuple[str, ...]
    p99_ms: float | None
    unkept_searches: int = 0


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a run says of an objective: a size for each variant and number of workers, and where it says nothing."""

    run: Run
    sizes: tuple[Size, ...]
    shortfalls: tuple[Shortfall, ...]


def compute_sizes(run: Run, objective: SizingObjective) -> Sizing:
    """Return what a rate needs of each variant of a run whose loads are steady requests.

    Raises UsageError for a run in progress.
    """
    if run.info.status == "running":
        raise UsageError(f"{run.info.id} is still running", "wait until it has ended")
    by_variant: dict[tuple[object, ...], dict[tuple[int, int], list[CellSummary]]] = {}
    shortfalls, sizes = [], []
    for cell in _choose_first_driver(cell for cell in summarise(run.records) if _is_steady(cell)):
        size = (_read_count(cell, "workers"), _read_count(cell, "replicas"))
        by_variant.setdefault(_get_levels(cell, (*_SIZE, *_LOAD)), {}).setdefault(size, []).append(cell)
    for by_size in by_variant.values():
        kept = []
        for cells in by_size.values():
            found = find_kept_rate(cells, objective.p99_ms, run.info.looks_planned)
            if isinstance(found, KeptRate):
                kept.append(found)
            else:
                shortfalls.append(found)
        sizes += _size_variant(kept, objective, run.info.looks_planned)
    return Sizing(run, tuple(sizes), tuple(shortfalls))


def _is_steady(cell: CellSummary) -> bool:
    is_changing = cell.factors["shape"] not in (None, "capacity")
    has_changing_replicas = cell.factors["disruption"] not in (None, "none") or cell.factors["replicas_max"] is not None
    return not (cell.has_streams or is_changing or has_changing_replicas)


def _get_levels(cell: CellSummary, without: Sequence[str]) -> tuple[object, ...]:
    return tuple(level for name, level in cell.factors.items() if name not in without)


def _choose_first_driver(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """Leave out cells that a driver measured which verdicts prefer: they are cross-checks."""
    first: dict[tuple[object, ...], CellSummary] = {}
    for cell in cells:
        levels = _get_levels(cell, ("driver",))
        if levels not in first or _rank_driver(cell) < _rank_driver(first[levels]):
            first[levels] = cell
    return list(first.values())


def _rank_driver(cell: CellSummary) -> int:
    return _DRIVERS.index(str(cell.factors["driver"]))


def _read_count(cell: CellSummary, factor: str) -> int:
    return int(cell.factors[factor] or 1)


def find_kept_rate(cells: Sequence[CellSummary], p99_ms: float, looks: int = 1) -> KeptRate | Shortfall:
    """Return the rate that keeps a p99, of cells that differ in their load alone: the capacity if it was searched for.

    Open loads are climbed for each number of connections by themselves: with too few, they break earlier.
    """
    if searched := [found for cell in cells if (found := _read_capacity(cell, p99_ms, looks))]:
        return max(searched, key=lambda each: each.rate.estimate)
    if unkept := next((cell for cell in cells if cell.unkept_searches), None):
        return Shortfall(unkept, (), None, unkept.unkept_searches)
    climbs: dict[tuple[object, ...], list[CellSummary]] = {}
    for cell in cells:
        concurrency = None if _is_closed(cell) else cell.factors["concurrency"]
        climbs.setdefault((concurrency, cell.factors["connections"]), []).append(cell)
    ended = [_climb(same, p99_ms, looks) for same in climbs.values()]
    if kept := [each for each in ended if isinstance(each, KeptRate)]:
        return max(kept, key=lambda each: each.rate.estimate)
    rejected = [each for each in ended if not isinstance(each, KeptRate)]
    failed = dict.fromkeys(name for names in rejected for name in names) if all(rejected) else ()
    usable = (cell for cell in cells if not any(cell.failed_gates(metric) for metric in (_RATE, _P99)))
    least = min((each for cell in usable if (each := cell.figure(_P99)) is not None), default=None)
    return Shortfall(cells[0], tuple(failed), least)


def _is_closed(cell: CellSummary) -> bool:
    return not (cell.factors["rate_per_s"] or cell.factors["shape"])


def _climb(cells: Sequence[CellSummary], p99_ms: float, looks: int) -> KeptRate | tuple[str, ...]:
    """Return the rate that keeps a p99; if none does, the gates that failed at all loads, or nothing if one was slow.

    Loads are climbed from the lightest on. In each block, the rate is interpolated between the last that kept the p99
    and the first that didn't, on logarithmic scales; its interval holds both of these as well as that of the blocks.
    Cells that fail a gate say nothing, except that an overloaded one ends the climb, whatever the p99 of the rest.
    """
    last: CellSummary | None = None
    broken: CellSummary | None = None
    rejected: list[str] = []
    for cell in sorted(
        cells, key=lambda cell: [float(cell.factors[name] or 0) for name in ("rate_per_s", "concurrency")]
    ):
        failed = {gate.name for metric in (_RATE, _P99) for gate in cell.failed_gates(metric)}
        p99, rate = cell.figure(_P99), cell.figure(_RATE)
        is_slow = p99 is not None and p99 > p99_ms
        if (is_slow and not failed) or (failed & OVERLOADED and not failed & _DISTURBED):
            broken = cell
            rejected = [] if is_slow else [*rejected, *sorted(failed)]
            break
        if failed or p99 is None or rate is None:
            rejected += sorted(failed) or ["no reply"]
        else:
            last = cell if last is None or rate >= (last.figure(_RATE) or 0) else last
            rejected = []
    if last is None:
        return tuple(dict.fromkeys(rejected))
    by_block, bracket = last.by_block(_RATE), [last.figure(_RATE) or 0.0]
    if broken and not broken.failed_gates(_RATE):
        common = sorted(by_block.keys() & broken.by_block(_RATE).keys() & broken.by_block(_P99).keys())
        by_block = {block: _interpolate(p99_ms, (last, broken), block) for block in common} or by_block
    if broken:
        bracket.append(float(broken.factors["rate_per_s"] or broken.figure(_RATE) or bracket[0]))
    kept = _make_estimate(mean(list(by_block.values()), looks), *bracket)
    return KeptRate(last, by_block, kept, broken is None, () if broken else tuple(dict.fromkeys(rejected)))


def _read_capacity(cell: CellSummary, p99_ms: float, looks: int) -> KeptRate | None:
    """Return the capacity of a cell that was searched for under this p99, or under a shorter one: a lower bound then.

    None without one in every block, and where a gate failed that doesn't make it a lower bound either.
    """
    metric = METRICS["capacity"]
    goal_ms = max((record.search.p99_ms for record in cell.records if record.search), default=math.inf)
    failed = {gate.name for gate in cell.failed_gates(metric)}
    by_block = cell.by_block(metric)
    if goal_ms > p99_ms or not by_block or cell.unkept_searches or not failed <= LIMITING:
        return None
    rate = _make_estimate(mean(list(by_block.values()), looks))
    return KeptRate(cell, by_block, rate, bool(failed) or goal_ms < p99_ms)


def _interpolate(p99_ms: float, between: tuple[CellSummary, CellSummary], block: int) -> float:
    """Return the rate at a p99 in a block, no lower and no higher than the two rates."""
    rates, latencies = ([math.log(cell.by_block(metric)[block]) for cell in between] for metric in (_RATE, _P99))
    if latencies[0] >= latencies[1]:
        return math.exp(rates[0])
    share = (math.log(p99_ms) - latencies[0]) / (latencies[1] - latencies[0])
    return math.exp(rates[0] + min(max(share, 0.0), 1.0) * (rates[1] - rates[0]))


def _size_variant(kept: Sequence[KeptRate], objective: SizingObjective, looks: int) -> list[Size]:
    """Return what a variant needs: replicas, for each number of workers; and workers, where they follow a law.

    Workers have none beyond the cores of a replica.
    """
    by_workers: dict[int, list[KeptRate]] = {}
    for each in kept:
        by_workers.setdefault(each.workers, []).append(each)
    single = [each for each in kept if each.replicas == 1]
    sizes = [_make_size(same, objective, "replicas", looks) for same in by_workers.values()]
    if any(each.is_oversubscribed for each in single) or not fit_law(single, "workers"):
        return sizes
    return [*sizes, _make_size(single, objective, "workers", looks)]


def fit_law(kept: Sequence[KeptRate], factor: str) -> ScalingLaw | None:
    """Return the scaling law of rates that keep the objective; None for too few levels or blocks, or lower bounds."""
    ascending = sorted(kept, key=lambda each: _read_count(each.cell, factor))
    by_level = {float(_read_count(each.cell, factor)): each.by_block for each in ascending}
    return None if _have_bounds(kept) else fit_common_blocks(by_level)


def _have_bounds(kept: Sequence[KeptRate]) -> bool:
    """Return whether rates that are known would be mixed with lower bounds, or all are bounds.

    Closed loads none of which broke the objective have a throughput, which laws of runs are of as well.
    """
    are_throughputs = all(each.is_least and each.is_closed for each in kept)
    return not are_throughputs and any(each.is_least for each in kept)


def _make_size(kept: Sequence[KeptRate], objective: SizingObjective, factor: str, looks: int) -> Size:
    """Return how many replicas, or workers, serve the rate: by their law, or else in proportion to the most.

    Where some rates are lower bounds, that is the most with a known one.
    """
    known = [each for each in kept if not each.is_least] if _have_bounds(kept) else []
    most = max(known or kept, key=lambda each: _read_count(each.cell, factor))
    measured, law = _read_count(most.cell, factor), fit_law(kept, factor)
    needed = objective.rate_per_s / objective.utilisation * (1 - _TOLERANCE)
    found = _find_count(law, needed) if law else _divide(needed * measured, most.rate)
    memory = [record.server.memory_bytes for record in most.cell.records if record.server.memory_bytes is not None]
    cpu_us = most.cell.by_block(_CPU)
    return Size(
        factor=factor,
        kept=most,
        law=law,
        count=found,
        cores=_scale(_make_estimate(mean(list(cpu_us.values()), looks)), objective.rate_per_s / 1e6)
        if cpu_us
        else None,
        memory_bytes=_scale(found, max(memory) / measured) if memory else None,
        is_extrapolated=found.high > measured,
        is_bounded=len(kept) >= LEVELS_MIN and _have_bounds(kept),
    )


def _divide(needed: float, rate: Estimate) -> Estimate:
    """Return how often a rate is needed; without ends if it has none."""
    low, estimate, high = (float(math.ceil(needed / each)) for each in (rate.high, rate.estimate, rate.low))
    return Estimate(estimate, low, high) if math.isfinite(rate.high) else Estimate(estimate, -math.inf, math.inf)


def _find_count(law: ScalingLaw, needed: float) -> Estimate:
    """Return the least number that serves a rate by a law and by the ends of its interval."""
    counts = range(1, COUNT_MAX + 1)
    served = law.predict(counts)
    found = (
        next((float(count) for count, rate in zip(counts, served, strict=True) if read(rate) >= needed), math.inf)
        for read in (attrgetter("estimate"), attrgetter("high"), attrgetter("low"))
    )
    return Estimate(*found)


def _make_estimate(figure: Ratio, *within: float) -> Estimate:
    """Return a figure whose interval holds these, too; without ends from too few blocks."""
    if figure.interval is None:
        return Estimate(figure.estimate, -math.inf, math.inf)
    ends = (*figure.interval, *within)
    return Estimate(figure.estimate, min(ends), max(ends))


def _scale(figure: Estimate, by: float) -> Estimate:
    return Estimate(figure.estimate * by, figure.low * by, figure.high * by)
