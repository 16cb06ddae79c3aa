"""What can be said of runs and cells beside comparisons: answers, loads, sweeps, proxies, workers, TLS."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wirebench.analysis.compare_cells import Comparison
from wirebench.analysis.ratio import mean
from wirebench.analysis.series import LIMITING, FactorSeries, find_series
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.labels import (
    capitalise,
    describe_settings,
    describe_situation,
    name_gate,
    name_transport,
    pluralise,
)
from wirebench.model.metric import METRICS
from wirebench.model.record import FAIRNESS_MIN
from wirebench.model.scenario import Load
from wirebench.present import sentences
from wirebench.present.numbers import format_ci, format_number
from wirebench.results.runs import Run

#: Latencies over this, in milliseconds, are said without tenths.
_TENTHS_MS_MAX = 100

#: Which limit was reached where one of `series.BREAKING` failed.
_BROKEN = {
    "error_rate": "requests failed",
    "conformance": "replies were wrong",
    "counts": "driver and service counted differently",
    "connections": "some of them got no reply (servers limit how many they take)",
    "generator_cpu": "the load generator's CPU was full",
    "ceiling": "the load generator was near what it makes at most",
    "dropped_iterations": "requests were due that no connection was free for",
}


def describe_common_factors(cells: Sequence[CellSummary]) -> str:
    """Say what all cells of a run are alike in, and their names leave out: operation, load, what isn't the default."""
    if not cells:
        return ""
    factors, varied = cells[0].factors, cells[0].factors.keys() - cells[0].shared
    return ", ".join(filter(None, (describe_situation(factors, varied), *describe_settings(factors, varied))))


def describe_sweep(series: FactorSeries) -> str:
    """Say of a series over the concurrency what served the most, and which limit was reached first."""
    first = series.cells[0]
    what = f"{first.name}, {describe_situation(first.factors, {'concurrency'})}"
    greatest = pluralise(int(series.levels[-1]), "connection")
    if series.most is None:
        return f"{what}: not one request succeeded, up to {greatest}."
    at = pluralise(int(series.most.factors["concurrency"] or 0), "connection")
    most = f"{what}: serves the most from {at} on ({_describe_served(series.most)})"
    if series.first_broken is None:
        return f"{most}; no limit was reached up to {greatest}."
    cell, gate = series.first_broken
    where = pluralise(int(cell.factors["concurrency"] or 0), "connection")
    error = f" ({cell.errors[0]})" if cell.errors and gate.name == "error_rate" else ""
    return f"{most}; first, at {where}, {_BROKEN[gate.name]}{error}."


def describe_capacities(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Say of each cell that was searched for its capacity what it is, and of what objective."""
    return tuple(sentence for cell in cells if (sentence := _describe_capacity(cell)))


def _describe_capacity(cell: CellSummary) -> str:
    searches = [record.search for record in cell.records if record.search]
    if not searches:
        return ""
    asked = searches[0]
    objective = f"a p99 of at most {asked.p99_ms:g} ms and at most {100 * asked.error_share:g} % errors"
    kept = len(searches) - cell.unkept_searches
    if not kept:
        lowest = min(window.rate_asked_per_s for each in searches for window in each.windows)
        return f"{cell.full_name} keeps {objective} at no rate that was tried, down to {lowest:,} requests/s."
    if cell.unkept_searches:
        return f"{cell.full_name} keeps {objective} in {kept} of {len(searches)} blocks; no capacity."
    limits = [name_gate(gate.name) for gate in cell.failed_gates(METRICS["capacity"]) if gate.name in LIMITING]
    per_unit = [
        f"{format_number(value)} per {unit}"
        for name, unit in (("capacity_core", "core that it keeps busy"), ("capacity_memory", "GB of memory"))
        if (value := cell.figure(METRICS[name]))
    ]
    least = "at least " if limits else ""
    why = f" (the search was limited: {', '.join(limits)})" if limits else ""
    rate = mean(tuple(cell.by_block(METRICS["capacity"]).values()))
    most = f"{format_number(rate.estimate)}{format_ci(rate.low, rate.high)}"
    serves = f"{cell.full_name} serves {least}{most} requests/s{why} with {objective}"
    return f"{'; '.join((serves, *per_unit))}."


def _describe_served(cell: CellSummary) -> str:
    rate = cell.figure(cell.rate) or 0.0
    metric = METRICS["first_item" if cell.has_streams else "p99"]
    if failed := cell.failed_gates(metric):
        gates = ", ".join(name_gate(gate.name) for gate in failed)
        return f"{rate:,.0f} {cell.rate.label}; {metric.label} withheld, failed gates: {gates}"
    ms = cell.figure(metric) or 0.0
    time = f"{ms:,.{1 if ms < _TENTHS_MS_MAX else 0}f} ms"
    return f"{rate:,.0f} items/s, the first after {time}" if cell.has_streams else f"{rate:,.0f}/s, {time} at the p99"


def list_notes(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    """Say what the proxy cost, and where workers were uneven."""
    return tuple(filter(None, (describe_proxy_cost(cells), describe_uneven_workers(cells))))


def describe_proxy_cost(cells: Iterable[CellSummary]) -> str:
    """Say what the proxy that loads went through costs by itself; nothing if there was none."""
    seen = [(name_transport(cell.factors), record.proxy) for cell in cells for record in cell.records if record.proxy]
    if not seen:
        return ""
    by_transport: dict[str, list[float]] = {}
    for transport, proxy in seen:
        by_transport.setdefault(transport, []).append(proxy.added_ms)
    added = ", ".join(f"{statistics.median(added_ms):.2f} ms on {name}" for name, added_ms in by_transport.items())
    cpu_us = [proxy.cpu_us_per_request for _, proxy in seen if proxy.cpu_us_per_request is not None]
    cpu = f", and {statistics.median(cpu_us):.0f} µs of CPU time on the load generator's cores" if cpu_us else ""
    return f"The proxy itself adds at the median {added} to a call{cpu}; neither is subtracted."


def describe_uneven_workers(cells: Iterable[CellSummary]) -> str:
    """Say where some workers of a service had far more requests than others; nothing if nowhere.

    This is how a server behaves whose workers share a listening socket, and so a finding about it, not a fault.
    """
    several = [cell for cell in cells if int(cell.factors["workers"] or 1) > 1]
    uneven = {
        cell.full_name: min(known)
        for cell in several
        if (known := [each for record in cell.records if (each := record.server.fairness) is not None])
        and min(known) < FAIRNESS_MIN
    }
    if not uneven:
        return ""
    worst = min(uneven, key=uneven.__getitem__)
    return (
        f"Workers had uneven shares of the requests in {len(uneven)} of {pluralise(len(several), 'cell')} with several "
        f"workers. The least even is {worst}: Jain's index {uneven[worst]:.2f}, where 1 is even. "
        "A connection stays with the worker that accepted it; with more connections, shares are more even."
    )


def write_answer(run: Run, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Say what a run comes to: which limit came first, who is faster, and how far drivers agree.

    `comparisons` are those of the run; a running one has no answer yet.
    """
    if run.info.status == "running":
        return ()
    cells = summarise(run.records, run.info.compare)
    sweeps = map(describe_sweep, find_series(cells, "concurrency"))
    checks = (*sentences.describe_cross_checks(comparisons), *sentences.describe_agreement(comparisons))
    found = (*describe_capacities(cells), *sweeps)
    return tuple(map(capitalise, (*found, *sentences.summarise_comparisons(comparisons), *checks)))


def describe_load(load: Load) -> str:
    """Name the model of a load, and what it sets besides rates, warm-up and window."""
    return ", ".join(_list_settings(load))


def _list_settings(load: Load) -> Iterator[str]:
    yield f"{load.calls:,} calls a connection" if load.calls else load.model
    if load.warmup_calls:
        yield f"{load.warmup_calls:,} to warm up"
    if load.concurrency_max is not None:
        yield f"up to {load.concurrency_max:,} connections"
    if load.spawn_rate_per_s is not None:
        yield f"{load.spawn_rate_per_s:g} users start a second"
    if load.objective is not None:
        yield f"p99 at most {load.objective.p99_ms:g} ms, errors at most {100 * load.objective.error_share:g} %"
    if load.timeout_s is not None:
        yield f"timeout {load.timeout_s:g} s"


def describe_handshakes(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Say what cells with TLS agreed on with their services, which drivers don't report it, and what was resumed."""
    return tuple(_describe_tls([cell for cell in cells if cell.factors["tls"] != "none"]))


def _describe_tls(cells: list[CellSummary]) -> Iterator[str]:
    agreed: dict[str, dict[str, None]] = {}
    resumed: Counter[bool] = Counter()
    for cell in cells:
        for each in (each for record in cell.records for each in record.tls):
            agreement = f"{each.version}, {each.cipher_suite}, {each.key_exchange}"
            agreed.setdefault(agreement, {})[name_transport(cell.factors)] = None
            resumed[each.resumed] += each.handshakes
    if len(agreed) == 1:
        yield f"All connections with TLS agreed on {next(iter(agreed))}."
    elif agreed:
        said = "; ".join(f"{', '.join(transports)} on {agreement}" for agreement, transports in agreed.items())
        yield f"Not all connections with TLS agreed on the same, which is part of what is compared: {said}."
    if resumed:
        yield f"{resumed[True]:,} of {resumed.total():,} handshakes resumed an earlier session."
    silent = dict.fromkeys(str(cell.factors["driver"]) for cell in cells if not any(each.tls for each in cell.records))
    if silent:
        yield f"{capitalise(', '.join(silent))} doesn't report what its connections with TLS agreed on."
