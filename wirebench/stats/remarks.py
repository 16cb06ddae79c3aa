"""What can be said of cells beside their comparison: disruptions, sweeps, a proxy's cost, uneven workers."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from wirebench.measure.gates import FAIRNESS_MIN
from wirebench.stats.names import cell_name, counted, load, settings, transport_name
from wirebench.stats.series import Series
from wirebench.stats.summary import METRICS, CellSummary
from wirebench.store import DisruptionRecord

#: Latencies over this, in milliseconds, are said without tenths.
_TENTHS_MS_MAX = 100

#: What gave way where one of `series.BREAKING` failed.
_BROKEN = {
    "error_rate": "requests failed",
    "conformance": "replies were wrong",
    "counts": "driver and service counted differently",
    "connections": "some of them got no reply",
    "generator_cpu": "the load generator's CPU was full",
    "ceiling": "the load generator was near what it makes at most",
    "dropped_iterations": "requests were due that no connection was free for",
}

_DISRUPTIONS = {"rolling-restart": "a rolling restart of {}", "kill-pod": "the loss of one of {}"}


def throughout(cells: Sequence[CellSummary]) -> str:
    """Say what all cells of a run are alike in, and their names don't tell: operation, load, what isn't the default."""
    if not cells:
        return ""
    factors, varied = cells[0].factors, cells[0].factors.keys() - cells[0].shared
    return ", ".join(filter(None, (load(factors, varied), *settings(factors, varied))))


def disruptions(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Say of each cell whose replicas were disrupted what that cost."""
    return tuple(sentence for cell in cells if (sentence := _disruption(cell)))


def sweep(series: Series) -> str:
    """Say of a series over the concurrency what served the most, and what gave way first."""
    first = series.cells[0]
    what = f"{cell_name(first.factors, first.shared)}, {load(first.factors, {'concurrency'})}"
    greatest = counted(int(series.levels[-1]), "connection")
    if series.most is None:
        return f"{what}: not one request succeeded, up to {greatest}."
    at = counted(int(series.most.factors["concurrency"] or 0), "connection")
    most = f"{what}: serves the most from {at} on ({_served(series.most)})"
    if series.first_broken is None:
        return f"{most}; nothing gave way up to {greatest}."
    cell, gate = series.first_broken
    where = counted(int(cell.factors["concurrency"] or 0), "connection")
    error = f" ({cell.errors[0]})" if cell.errors and gate.name == "error_rate" else ""
    return f"{most}; first, at {where}, {_BROKEN[gate.name]}{error}."


def _served(cell: CellSummary) -> str:
    rate = cell.typical(cell.rate) or 0.0
    ms = cell.typical(METRICS["first_item" if cell.has_streams else "p99"]) or 0.0
    time = f"{ms:,.{1 if ms < _TENTHS_MS_MAX else 0}f} ms"
    return f"{rate:,.0f} items/s, the first after {time}" if cell.has_streams else f"{rate:,.0f}/s, {time} at the p99"


def _disruption(cell: CellSummary) -> str:
    seen = [record.disruption for record in cell.records if record.disruption]
    if not seen:
        return ""
    factors = cell.factors
    replicas = counted(int(factors["replicas"] or 1), "replica")
    what = f"{transport_name(factors)}, {_DISRUPTIONS[seen[0].kind].format(replicas)} under {load(factors)}"
    requests = sum(record.requests_total for record in cell.records)
    failed = sum(each.failed_requests for each in seen)
    lost = f"none of {requests:,} requests failed"
    if failed:
        recovery = _from_to([each.recovery_s for each in seen])
        lost = f"{failed:,} of {requests:,} requests failed, the last of them {recovery} s after it began"
    slowest_ms = max(
        (latency.max_ms for record in cell.records if (latency := record.response or record.service)), default=0
    )
    ready = _from_to([_lasted_s(each) for each in seen])
    return (
        f"{what}: {lost}; the slowest answer took {slowest_ms:,.0f} ms; all replicas were ready again after {ready} s."
    )


def _lasted_s(disruption: DisruptionRecord) -> float:
    return (disruption.end_unix_ns - disruption.start_unix_ns) / 1e9


def _from_to(values: Sequence[float]) -> str:
    return "–".join(dict.fromkeys(f"{value:.1f}" for value in (min(values), max(values))))


def proxy_cost(cells: Iterable[CellSummary]) -> str:
    """Say what the proxy that loads went through costs by itself; nothing if there was none."""
    seen = [(transport_name(cell.factors), record.proxy) for cell in cells for record in cell.records if record.proxy]
    if not seen:
        return ""
    by_transport: dict[str, list[float]] = {}
    for transport, proxy in seen:
        by_transport.setdefault(transport, []).append(proxy.added_ms)
    added = ", ".join(f"{statistics.median(added_ms):.2f} ms on {name}" for name, added_ms in by_transport.items())
    cpu_ms = [proxy.cpu_ms_per_request for _, proxy in seen if proxy.cpu_ms_per_request is not None]
    cpu = f", and {statistics.median(cpu_ms) * 1000:.0f} µs of CPU time on the load generator's cores" if cpu_ms else ""
    return f"The proxy itself adds at the median {added} to a call{cpu}; neither is subtracted."


def uneven_workers(cells: Iterable[CellSummary]) -> str:
    """Say where some workers of a service had far more requests than others; nothing if nowhere.

    This is how a server behaves whose workers share a listening socket, and so a finding about it, not a fault.
    """
    several = [cell for cell in cells if int(cell.factors["workers"] or 1) > 1]
    least = [(fairness, cell) for cell in several if (fairness := _least_fairness(cell)) is not None]
    uneven = [each for each in least if each[0] < FAIRNESS_MIN]
    if not uneven:
        return ""
    index, worst = min(uneven, key=lambda each: each[0])
    return (
        f"Workers had uneven shares of the requests in {len(uneven)} of {counted(len(several), 'cell')} with several "
        f"workers. The least even is {worst.full_name}: Jain's index {index:.2f}, where 1 is even. "
        "A connection stays with the worker that accepted it; with more connections, shares are more even."
    )


def _least_fairness(cell: CellSummary) -> float | None:
    known = (record.server.fairness for record in cell.records)
    return min((each for each in known if each is not None), default=None)
