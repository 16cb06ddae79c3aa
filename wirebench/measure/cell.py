"""From what was observed of a cell to its record: what was counted, what was used, and whether it is fit to be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wirebench.drivers import Job
from wirebench.measure.calibration import Calibration
from wirebench.measure.counters import compute_fairness
from wirebench.measure.gates import GateInput, check_gates
from wirebench.measure.observe import Observation, ServerUse
from wirebench.measure.usage import sum_if_all_known
from wirebench.model.cell import Cell
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import CLOCKS, OK, Clock, HistogramFile, merge_parallel
from wirebench.model.record import (
    CapacitySearch,
    Generator,
    Latency,
    OperationFigures,
    Proxy,
    Record,
    Server,
    Slice,
    StreamFigures,
    summarise_histogram,
)
from wirebench.model.run_info import RunInfo
from wirebench.model.scenario import Load
from wirebench.plan.arrivals import compute_rate_asked_per_s, compute_window_arrivals_ns
from wirebench.plan.plan import PlannedCell
from wirebench.targets import Cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under what a job is done, as far as a record needs it.

    `host_share` are the CPU limits of services and generators that share a machine, as a share of its cores; None where
    they have machines or cores of their own.
    """

    cores: Cores | None = None
    host_share: float | None = None
    #: What is known of the driver's own error; None where it isn't looked up.
    calibration: Calibration | None = None


def make_record(
    job: Job,
    observations: Sequence[Observation],
    conditions: Conditions,
    *,
    search: CapacitySearch | None = None,
    searched: Cell | None = None,
) -> Record:
    """Make the record of what one generator or several observed, and merge their histograms into the job's output.

    What places it in a run is empty: see `place_record`. `search` is one that the job is the answer of, and `searched`
    the cell that was searched. Raises WirebenchError if no request was sent at all.
    """
    cell, load = job.cell, job.load
    merged = merge_parallel([each.file for each in observations])
    merged.write(job.output)
    # Each has a window of its own, all of them equally long: rates add up.
    window_s = sum(each.window_s for each in observations) / len(observations)
    counts = merged.count_by_code()
    requests = sum(counts.values())
    rate = counts.get(OK, 0) / window_s
    server = _summarise_server(observations[0].server, requests, cell.workers)
    window = merged.require_window()
    over_time = compute_slices(merged, load)
    calibration, loaded = conditions.calibration, load.add_connections(cell)
    record = Record(
        run="",
        scenario="",
        id="",
        cell=(searched or cell).id,
        block=0,
        order=0,
        factors=(searched or cell).factors,
        window_start_unix_ns=window.start_unix_ns,
        window_end_unix_ns=window.end_unix_ns,
        window_s=window_s,
        requests=requests,
        requests_total=merged.sent,
        rate_achieved_per_s=rate,
        rate_asked_per_s=compute_rate_asked_per_s(load, cell),
        errors={code: count for code, count in counts.items() if code != OK},
        error_texts=merged.errors,
        dropped_iterations=merged.dropped_iterations,
        mismatches=merged.mismatches,
        retried=merged.retried,
        service=summarise_latency(merged, "service"),
        response=summarise_latency(merged, "response"),
        operations=summarise_operations(merged),
        streams=_summarise_streams(merged, server, window_s),
        merged={clock: latency for clock in CLOCKS if (latency := summarise_latency(merged, clock))},
        histogram_file="",
        server=server,
        generator=_summarise_generator(conditions.cores, observations),
        instrument=calibration.look_up(loaded, rate, load.generators) if calibration else None,
        reference_us=observations[0].reference_us,
        bytes_sent_per_request=_divide(merged.bytes_sent, merged.bytes_requests),
        bytes_received_per_request=_divide(merged.bytes_received, merged.bytes_requests),
        proxy=_summarise_proxy(observations, requests),
        tls=merged.tls,
        over_time=over_time,
        search=search,
        gates=(),
        versions={},
        machine={},
        commit=None,
    )
    gates = check_gates(GateInput(job, observations, merged, record, conditions.host_share))
    return record.model_copy(update={"gates": gates})


def place_record(record: Record, planned: PlannedCell, info: RunInfo, histogram_file: Path) -> Record:
    """Return a record as one of a run, whose folder has the histogram file at this path."""
    return record.model_copy(
        update={
            "run": info.id,
            "scenario": info.scenario,
            "id": planned.id,
            "block": planned.block,
            "order": planned.order,
            "histogram_file": str(histogram_file),
            "versions": info.versions,
            "machine": info.machine,
            "commit": info.commit,
        }
    )


def _divide(total: int | None, count: int | None) -> float | None:
    return total / count if total is not None and count else None


def summarise_latency(file: HistogramFile, clock: Clock, operation: str | None = None) -> Latency | None:
    """Return a clock's distribution, of all operations or of one, in milliseconds.

    None if no request succeeded or there is no such clock.
    """
    return summarise_histogram(file.merge_histograms(clock, operation))


def summarise_operations(merged: HistogramFile) -> dict[str, OperationFigures]:
    """Return the figures of each operation, where there are several."""
    if len(merged.operations) < 2:  # noqa: PLR2004 - one alone has all the figures of the record
        return {}
    figures = {}
    for operation in merged.operations:
        counts = merged.count_by_code(operation)
        figures[operation] = OperationFigures(
            requests=sum(counts.values()),
            errors={code: count for code, count in counts.items() if code != OK},
            service=summarise_latency(merged, "service", operation),
            response=summarise_latency(merged, "response", operation),
        )
    return figures


def _summarise_streams(file: HistogramFile, server: Server, window_s: float) -> StreamFigures | None:
    if file.streams is None:
        return None
    items, items_total = file.items, file.streams.items_total
    return StreamFigures(
        items=items,
        items_total=items_total,
        item_rate_per_s=items / window_s,
        items_per_stream=items_total / file.sent if file.sent else 0.0,
        bytes_received_per_item=_divide(file.bytes_received, items_total),
        cpu_us_per_item=server.cpu_s / items * 1e6 if server.cpu_s is not None and items else None,
        cancelled=file.streams.cancelled,
        first_item=summarise_latency(file, "first_item"),
        gap=summarise_latency(file, "gap"),
    )


def _summarise_server(use: ServerUse, requests: int, workers: int) -> Server:
    """Return the figures of the service, whose replicas have so many workers each; an idle one has counted nothing."""
    by_worker, by_replica = None, None
    if use.requests is not None:
        alone = len(use.requests) == 1
        by_worker = {
            worker if alone else f"{replica}/{worker}": count
            for replica, counts in use.requests.items()
            for worker, count in counts.items()
        }
        by_replica = {replica: sum(counts.values()) for replica, counts in use.requests.items()}
    shares = [compute_fairness(list(counts.values()), workers) for counts in (use.requests or {}).values()]
    return Server(
        cpu_s=use.cpu_s,
        cpu_us_per_request=use.cpu_s / requests * 1e6 if use.cpu_s is not None and requests else None,
        memory_bytes=use.memory_bytes,
        throttled_periods=use.throttled_periods,
        requests_by_worker=by_worker,
        fairness=min((each for each in shares if each is not None), default=None),
        requests_by_replica=by_replica,
        replica_fairness=compute_fairness(list(by_replica.values()), len(by_replica)) if by_replica else None,
    )


def _summarise_generator(cores: Cores | None, observations: Sequence[Observation]) -> Generator:
    """Return the share of the generator that was busiest: where one is at its end, the load isn't what it should be."""
    shares = [
        cpu_s / (each.window_s * each.generator.cores)
        for each in observations
        if (cpu_s := _sum_generator_cpu_s(each)) is not None and each.generator.cores is not None
    ]
    return Generator(
        cpu_share=max(shares) if len(shares) == len(observations) else None,
        cores=tuple(sorted(cores.generator)) if cores else None,
        shares_cores_with_server=cores.shared if cores else None,
    )


def _sum_generator_cpu_s(observation: Observation) -> float | None:
    """Return what the driver used, and with it the proxy that runs on its cores."""
    proxy = [observation.proxy.cpu_s] if observation.proxy else []
    return sum_if_all_known([observation.generator.cpu_s, *proxy])


def _summarise_proxy(observations: Sequence[Observation], requests: int) -> Proxy | None:
    first = observations[0].proxy
    if first is None or first.added_ms is None:
        return None
    cpu_s = sum_if_all_known([each.proxy.cpu_s if each.proxy else None for each in observations])
    return Proxy(
        added_ms=first.added_ms,
        pairs=first.pairs,
        cpu_us_per_request=cpu_s / requests * 1e6 if cpu_s is not None and requests else None,
    )


def compute_slices(file: HistogramFile, load: Load) -> tuple[Slice, ...]:
    """Return what was due in each part of a window whose load changes, and how long that took."""
    histograms, due_ns = file.over_time, compute_window_arrivals_ns(load)
    if due_ns is None or not histograms:
        return ()
    edges_s = np.linspace(0, load.window_s, len(histograms) + 1)
    # As wireload/histogram/window.go divides them, so that a slice's requests are those that are due in it.
    places = (due_ns / round(load.window_s * 1e9) * len(histograms)).astype(np.int64)
    asked = np.bincount(places, minlength=len(histograms))
    return tuple(
        _make_slice(float(start), float(end), int(count), histogram)
        for start, end, count, histogram in zip(edges_s, edges_s[1:], asked, histograms, strict=False)
    )


def _make_slice(start_s: float, end_s: float, asked: int, histogram: Histogram) -> Slice:
    p50_ms, p99_ms, max_ms = None, None, None
    if histogram.count:
        p50_ms, p99_ms, max_ms = (each / 1e6 for each in histogram.compute_quantiles_ns(0.5, 0.99, 1))
    return Slice(
        start_s=start_s,
        end_s=end_s,
        rate_asked_per_s=asked / (end_s - start_s),
        requests_ok=histogram.count,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        max_ms=max_ms,
    )
