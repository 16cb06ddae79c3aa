"""Sizes in words and for programs: how many replicas, with how many workers, at what cost, resting on what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from wirebench.analysis.differences import read_load
from wirebench.analysis.ratio import BLOCKS_MIN
from wirebench.analysis.scaling_law import COUNT_MAX, Estimate
from wirebench.analysis.sizing import INSTRUMENT_SHARE_MAX, Shortfall, Size, Sizing, SizingObjective
from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import describe_situation, name_cell, name_gate, name_machine, pluralise
from wirebench.present.data import EstimateData, make_estimate_data, make_view
from wirebench.present.numbers import ABSENT, format_ends, format_number
from wirebench.present.table import FigureTable, TableColumn, make_table

#: What the marks in the table mean.
LEGEND = "95 % intervals in brackets; * extrapolated beyond what was measured"
_WITHOUT = frozenset({"replicas", "workers"})


#: Caveats, and which sizes they apply to.
_CAVEATS: tuple[tuple[Callable[[Size], bool], str], ...] = (
    (
        lambda of: of.kept.is_closed,
        (
            "Loads were closed: connections wait for replies, so queues of requests that are due are not in these "
            "p99s, and a rate is that of so many connections, whether more would serve more or not. "
            "`wirebench run capacity` measures both."
        ),
    ),
    (
        lambda of: not of.kept.is_closed,
        "Arrivals were evenly spaced. Arrivals at random reach the p99 at a lower rate: leave room (`--utilisation`).",
    ),
    (
        lambda of: of.kept.is_lower_bound,
        "≥: no measured load broke the objective, so fewer may do; measure higher loads.",
    ),
    (
        lambda of: of.kept.has_uneven_replicas,
        "Some replicas had far more requests than others; what a replica keeps is the mean. Measure one replica.",
    ),
    (
        lambda of: of.is_bounded,
        (
            "No scaling law, as some rates are lower bounds: counts are in proportion to the most replicas with a "
            "known rate. Measure higher loads."
        ),
    ),
    (
        lambda of: of.law is None and of.is_extrapolated,
        (
            "Replicas are taken to add up (linear) beyond what was measured; shared stores, balancers and nodes may "
            "make it less."
        ),
    ),
    (
        lambda of: of.kept.is_oversubscribed,
        "Some replicas had more workers than cores, so workers have no scaling law.",
    ),
    (
        lambda of: math.isinf(of.kept.rate.high),
        f"({ABSENT}): fewer than {BLOCKS_MIN} blocks have no interval; measure more (`--blocks`).",
    ),
    (
        lambda of: of.law is not None and math.isinf(of.count.high),
        f"Never: the scaling law doesn't reach the rate, or not with up to {COUNT_MAX:,}.",
    ),
)


def make_size_table(of: Sizing) -> FigureTable:
    """Return a row for each size, with what it rests on."""
    return replace(
        make_table({"": [(_name_variant(size.kept.cell), (), size) for size in of.sizes]}, _COLUMNS), subject="variant"
    )


def describe_sizing(of: Sizing, objective: SizingObjective) -> Iterator[str]:
    """Say what was asked for, what sizes rest on, and where there are none."""
    if of.sizes:
        yield (
            f"For {objective.rate_per_s:,.6g} requests/s with a p99 up to {objective.p99_ms:g} ms, each replica "
            f"at {objective.utilisation:.0%} of what it was measured to keep."
        )
    if replicas := list(dict.fromkeys(filter(None, map(_describe_replica, of.sizes)))):
        yield f"Each replica had {' or '.join(replicas)}."
    yield from (text for applies, text in _CAVEATS if any(map(applies, of.sizes)))
    load = read_load(of.run.info.scenario_text)
    connections_max = load.concurrency_max if load else None
    if any(size.kept.may_lack_connections(objective.p99_ms, connections_max) for size in of.sizes):
        yield (
            "The rate times the p99 is over the number of connections: requests may have waited for a connection. "
            "Check with more (`--concurrency`)."
        )
    if any(size.kept.is_inexact(objective.p99_ms) for size in of.sizes):
        yield f"The driver's own error is over {INSTRUMENT_SHARE_MAX:.0%} of the p99: such rates depend on the driver."
    if failed := dict.fromkeys(name for size in of.sizes for name in size.kept.failed_gates):
        yield f"Higher loads failed gates: {', '.join(map(name_gate, failed))}."
    for shortfall in of.shortfalls:
        yield _describe_shortfall(shortfall, objective)
    if not of.run.records:
        yield f"no window of {of.run.info.id} was measured"
    elif not (of.sizes or of.shortfalls):
        yield f"{of.run.info.id} has no steady load of requests"
    elif of.run.info.status == "incomplete":
        yield f"The run is incomplete: {of.run.info.reason}."


def _describe_replica(of: Size) -> str:
    """Say how much CPU a replica had; nothing where it isn't known."""
    if limit := of.kept.cell.factors["cpu_limit_millicores"]:
        return f"{limit}m CPU"
    cores = of.kept.cores
    return f"{pluralise(int(cores), 'core')} of {name_machine(of.kept.cell.records[0].machine)}" if cores else ""


def _describe_shortfall(of: Shortfall, objective: SizingObjective) -> str:
    factors = of.cell.factors
    workers = pluralise(int(factors["workers"] or 1), "worker")
    replicas = pluralise(int(factors["replicas"] or 1), "replica")
    what = f"no usable measurement of {_name_variant(of.cell)} with {replicas} of {workers}"
    if of.failed_gates:
        return f"{what}: gates failed at all its loads ({', '.join(map(name_gate, of.failed_gates))})"
    if of.unkept_searches:
        return (
            f"{what}: no rate kept the objective of its search in {of.unkept_searches} of {len(of.cell.records)} blocks"
        )
    if of.p99_ms is None:
        return f"{what}: no request succeeded"
    least = format_number(of.p99_ms)
    return f"{what}: its p99 was over {objective.p99_ms:g} ms at all usable loads, {least} ms at the least"


def _name_variant(cell: CellSummary) -> str:
    load = {"concurrency", "rate_per_s", "connections"}
    work = "" if "operation" in cell.shared else f" {describe_situation(cell.factors, load)}"
    return f"{name_cell(cell.factors, {*_WITHOUT, *cell.shared})}{work}"


def _describe_basis(size: Size) -> str:
    load = describe_situation(size.kept.cell.factors, {"operation", "payload"}).removeprefix(", ")
    law = {"linear": "linear law", "amdahl": "Amdahl's law", "usl": "universal law"}
    basis = f"{law[size.law.model]} over {size.factor}" if size.law else "in proportion"
    return f"{basis}, from {load}"


def _format_count(size: Size) -> str:
    count = size.count
    if math.isinf(count.estimate):
        return f"never (from {count.low:,.0f})" if math.isfinite(count.low) else "never"
    star = "*" if size.is_extrapolated else ""
    return f"{count.estimate:,.0f}{star} ({format_ends(count.low, count.high, '{:,.0f}'.format)})"


def _format(of: Estimate | None, by: float = 1.0) -> str:
    if of is None or math.isinf(of.estimate):
        return ABSENT
    return f"{format_number(of.estimate / by)} ({format_ends(of.low / by, of.high / by)})"


def _format_scaled(factor: str, size: Size) -> str:
    """Return the number of replicas or workers: what is computed of one of them, and what is given of the other."""
    if size.factor == factor:
        return _format_count(size)
    return str(size.kept.workers) if factor == "workers" else "1"


_COLUMNS = (
    TableColumn("replicas", "", partial(_format_scaled, "replicas")),
    TableColumn("workers", "each", partial(_format_scaled, "workers")),
    TableColumn("cores", "busy", lambda size: _format(size.cores)),
    TableColumn("memory", "MiB", lambda size: _format(size.memory_bytes, 2.0**20)),
    TableColumn(
        "a replica keeps",
        "requests/s",
        lambda size: f"{'≥ ' if size.kept.is_lower_bound else ''}{_format(size.kept.rate, size.kept.replicas)}",
    ),
    TableColumn("by", "", _describe_basis),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeData:
    """What a rate needs of one variant: `replicas` with `workers` each; null where the law never reaches it.

    `kept_rate_per_s` is what the measured `cell` with `measured_replicas` keeps within the objective, and
    `is_least` whether no measured load broke it. `model` is null where replicas are taken to add up.
    """

    variant: str
    cell: str
    replicas: EstimateData
    workers: EstimateData
    measured_replicas: int
    measured_workers: int
    kept_rate_per_s: EstimateData
    is_least: bool
    closed_load: bool
    scaled: str
    model: str | None
    extrapolated: bool
    cores: EstimateData | None
    memory_bytes: EstimateData | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingData:
    """What a run says of an objective."""

    run: str
    rate_per_s: float
    p99_ms: float
    utilisation: float
    sizes: tuple[SizeData, ...]
    remarks: tuple[str, ...]


def make_sizing_data(of: Sizing, objective: SizingObjective) -> SizingData:
    """Return what programs get of a sizing."""
    return make_view(
        SizingData,
        objective,
        run=of.run.info.id,
        sizes=tuple(map(_make_size_data, of.sizes)),
        remarks=tuple(describe_sizing(of, objective)),
    )


def _make_size_data(of: Size) -> SizeData:
    kept = of.kept
    replicas, workers = (
        make_estimate_data(of.count if of.factor == factor else Estimate(fixed, fixed, fixed))
        for factor, fixed in (("replicas", 1 if of.factor == "workers" else kept.replicas), ("workers", kept.workers))
    )
    return make_view(
        SizeData,
        of,
        kept,
        variant=_name_variant(of.kept.cell),
        replicas=replicas,
        workers=workers,
        measured_replicas=kept.replicas,
        measured_workers=kept.workers,
        kept_rate_per_s=make_estimate_data(kept.rate),
        closed_load=kept.is_closed,
        scaled=of.factor,
        model=of.law.model if of.law else None,
        extrapolated=of.is_extrapolated,
    )
