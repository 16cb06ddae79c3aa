"""From what was observed of a cell to its record: what was counted, what was used, and whether it is fit to be used."""

from __future__ import annotations

from wirebench.drivers import Job
from wirebench.measure.calibration import Calibration
from wirebench.measure.counters import compute_fairness
from wirebench.measure.gates import GateInput, check_gates
from wirebench.measure.observe import Observation
from wirebench.measure.usage import divide_if_known
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import CLOCKS, OK, Clock, HistogramFile
from wirebench.model.record import (
    CapacitySearch,
    Generator,
    Latency,
    OperationFigures,
    Record,
    Server,
    StreamFigures,
    summarise_histogram,
)


def make_record(  # noqa: PLR0913 - what only some records have, each with a default
    job: Job,
    seen: Observation,
    *,
    calibration: Calibration | None = None,
    spare_cores: float | None = None,
    search: CapacitySearch | None = None,
    searched: Cell | None = None,
) -> Record:
    """Make the record of what was observed, and write the histograms to the job's output.

    `calibration` is what is known of the driver's own error. `spare_cores` are those of a machine that the CPU limits
    of its services leave; None where services and generators have machines or cores of their own. `search` is one that
    the job is the answer of, and `searched` the cell that was searched. Raises WirebenchError if no request was sent.
    """
    load = job.load
    cell, merged, window_s, pinned = searched or job.cell, seen.file, seen.window_s, seen.pinned
    merged.write(job.output)
    counts = merged.count_by_code()
    requests = sum(counts.values())
    rate_per_s = counts.get(OK, 0) / window_s
    record = Record(
        cell=cell.id,
        factors=cell.factors,
        window_end_unix_ns=merged.require_window().end_unix_ns,
        window_s=window_s,
        requests=requests,
        requests_total=merged.sent,
        rate_achieved_per_s=rate_per_s,
        rate_asked_per_s=load.compute_rate_asked_per_s(job.cell),
        errors={code: count for code, count in counts.items() if code != OK},
        error_texts=merged.errors,
        dropped_iterations=merged.dropped_iterations,
        mismatches=merged.mismatches,
        retried=merged.retried,
        reconnects=merged.reconnects,
        service=summarise_latency(merged, "service"),
        response=summarise_latency(merged, "response"),
        operations=summarise_operations(merged),
        streams=_summarise_streams(merged, seen.server_cpu_s, window_s),
        merged={clock: latency for clock in CLOCKS if (latency := summarise_latency(merged, clock))},
        server=_summarise_server(seen, requests, job.cell.workers),
        generator=Generator(
            cpu_share=seen.generator_share,
            shares_cores_with_server=pinned.shared if pinned else None,
        ),
        instrument=calibration.look_up(load.add_connections(job.cell), rate_per_s) if calibration else None,
        reference_us=seen.reference_us,
        bytes_sent_per_request=divide_if_known(merged.bytes_sent, merged.bytes_requests),
        bytes_received_per_request=divide_if_known(merged.bytes_received, merged.bytes_requests),
        search=search,
        gates=(),
    )
    gates = check_gates(GateInput(job, seen, record, spare_cores))
    return record.model_copy(update={"gates": gates})


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


def _summarise_streams(file: HistogramFile, cpu_s: float | None, window_s: float) -> StreamFigures | None:
    if file.streams is None:
        return None
    items = file.items
    return StreamFigures(
        items=items,
        item_rate_per_s=items / window_s,
        bytes_received_per_item=divide_if_known(file.bytes_received, file.streams.items_total),
        cpu_us_per_item=_compute_us_each(cpu_s, items),
        first_item=summarise_latency(file, "first_item"),
        gap=summarise_latency(file, "gap"),
    )


def _compute_us_each(cpu_s: float | None, count: int) -> float | None:
    return cpu_s / count * 1e6 if cpu_s is not None and count else None


def _summarise_server(seen: Observation, requests: int, workers: int) -> Server:
    """Return the figures of the service, whose replicas have so many workers each; an idle one has counted nothing."""
    counted = seen.server_requests
    by_replica = None if counted is None else {replica: sum(counts.values()) for replica, counts in counted.items()}
    shares = [compute_fairness(list(counts.values()), workers) for counts in (counted or {}).values()]
    return Server(
        cpu_s=seen.server_cpu_s,
        cpu_us_per_request=_compute_us_each(seen.server_cpu_s, requests),
        memory_bytes=seen.server_memory_bytes,
        throttled_periods=seen.server_throttled_periods,
        fairness=min((each for each in shares if each is not None), default=None),
        requests_by_replica=by_replica,
        replica_fairness=compute_fairness(list(by_replica.values()), len(by_replica)) if by_replica else None,
    )
