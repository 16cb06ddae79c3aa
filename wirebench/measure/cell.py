"""Measuring one cell in one block: load it, watch it, and write down what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.drivers import DRIVERS, HistogramFile, Job
from wirebench.drivers.histogram_file import OK, Clock, merge
from wirebench.measure.counters import Counters, fairness, read_counters
from wirebench.measure.gates import Evidence, check
from wirebench.measure.record import Generator, Latency, Record, Server
from wirebench.measure.sampler import Sampler, process_tree
from wirebench.measure.throttling import throttled_periods
from wirebench.targets import Cores, Endpoint

#: Services fold their counters twenty times a second; after this long the busiest machine has let them.
_COUNTERS_SETTLE_S = 3.0
_COUNTERS_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, in whose name: all of a record that is known beforehand."""

    run: str
    scenario: str
    record_id: str
    block: int
    order: int
    endpoint: Endpoint
    cores: Cores | None
    histogram_file: Path
    versions: dict[str, str]
    machine: dict[str, str]
    commit: str | None


@dataclass(frozen=True, slots=True)
class _Observed:
    """What was seen while the load ran."""

    parts: tuple[HistogramFile, ...]
    sampler: Sampler
    counted: Counters | None
    generator_throttled: int | None


def measure_cell(subject: Subject, job: Job) -> Record:
    """Run a job's load against an endpoint and return its record; the histogram file is left at `job.output`.

    Raises WirebenchError if the driver fails, or if no request was sent at all.
    """
    observed = _observe(subject.endpoint, job)
    merged = merge(observed.parts)
    merged.write(job.output)
    window_s = sum(part.window.duration_s for part in observed.parts if part.window)
    return _record(subject, job, observed, merged, window_s)


def _observe(endpoint: Endpoint, job: Job) -> _Observed:
    pids = process_tree(endpoint.root_pid) if endpoint.root_pid else ()
    before = read_counters(endpoint.admin_url) if endpoint.admin_url else None
    throttled_before = throttled_periods()
    with Sampler(pids) as sampler:
        parts = DRIVERS[job.cell.driver].run(job, sampler.watch)
    sent = sum(sum(part.requests_total.values()) for part in parts)
    throttled_after = throttled_periods()
    return _Observed(
        parts=parts,
        sampler=sampler,
        counted=_settled_counters(endpoint.admin_url, before, sent) if endpoint.admin_url and before else None,
        generator_throttled=None
        if throttled_before is None or throttled_after is None
        else throttled_after - throttled_before,
    )


def _settled_counters(admin_url: str, before: Counters, sent: int) -> Counters:
    """Read the counters once the service has folded in its last requests."""
    deadline = time.monotonic() + _COUNTERS_SETTLE_S
    while True:
        counted = read_counters(admin_url).since(before)
        if counted.requests >= sent or time.monotonic() > deadline:
            return counted
        time.sleep(_COUNTERS_POLL_S)


def _record(subject: Subject, job: Job, observed: _Observed, merged: HistogramFile, window_s: float) -> Record:
    counts = merged.counts_by_code()
    requests = sum(counts.values())
    rate = counts.get(OK, 0) / window_s
    server = _server(observed, requests)
    generator_cpu_s = _in_windows(observed.parts, observed.sampler.generator_cpu_s)
    generator = _generator(subject.cores, generator_cpu_s, window_s)
    service = latency(merged, "service")
    window = merged.checked_window()
    per_request = merged.bytes_requests or None
    evidence = Evidence(
        requests=requests,
        failed=requests - counts.get(OK, 0),
        dropped_iterations=merged.dropped_iterations,
        mismatches=merged.mismatches,
        rate_achieved_per_s=rate,
        rate_asked_per_s=job.cell.rate_per_s,
        concurrency=job.cell.concurrency,
        # Little's law, L = λW: J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961).
        in_flight=merged.latency_sum_s / window_s,
        warmup_s=job.load.warmup_s,
        p99_s=service.p99_ms / 1e3 if service else None,
        per_second=merged.full_seconds(),
        generator_cpu_share=generator.cpu_share,
        generator_cores_busy=generator_cpu_s / window_s if generator_cpu_s is not None else None,
        shares_cores=generator.shares_cores_with_server,
        fairness=server.fairness,
        workers=job.cell.workers,
        sent=sum(merged.requests_total.values()),
        counted_by_server=observed.counted.requests if observed.counted else None,
        generator_throttled_periods=observed.generator_throttled,
    )
    return Record(
        run=subject.run,
        scenario=subject.scenario,
        id=subject.record_id,
        cell=job.cell.id,
        block=subject.block,
        order=subject.order,
        factors=job.cell.factors,
        window_start_unix_ns=window.start_unix_ns,
        window_end_unix_ns=window.end_unix_ns,
        window_s=window_s,
        requests=requests,
        requests_total=evidence.sent,
        rate_achieved_per_s=rate,
        rate_asked_per_s=job.cell.rate_per_s,
        errors={code: count for code, count in counts.items() if code != OK},
        error_texts=merged.errors,
        dropped_iterations=merged.dropped_iterations,
        mismatches=merged.mismatches,
        service=service,
        response=latency(merged, "response"),
        histogram_file=str(subject.histogram_file),
        server=server,
        generator=generator,
        bytes_sent_per_request=merged.bytes_sent / per_request
        if merged.bytes_sent is not None and per_request
        else None,
        bytes_received_per_request=(
            merged.bytes_received / per_request if merged.bytes_received is not None and per_request else None
        ),
        gates=check(evidence),
        versions=subject.versions,
        machine=subject.machine,
        commit=subject.commit,
    )


def latency(file: HistogramFile, clock: Clock) -> Latency | None:
    """Return a clock's distribution in milliseconds; None if no request succeeded or there is no such clock."""
    histogram = file.histogram(clock)
    if not histogram.count:
        return None
    least, p50, p90, p95, p99, p99_9, most = (
        nanoseconds / 1e6 for nanoseconds in histogram.quantiles_ns(0, 0.5, 0.9, 0.95, 0.99, 0.999, 1)
    )
    return Latency(
        count=histogram.count,
        min_ms=least,
        mean_ms=histogram.mean_ns / 1e6,
        stdev_ms=histogram.stdev_ns / 1e6,
        p50_ms=p50,
        p90_ms=p90,
        p95_ms=p95,
        p99_ms=p99,
        p99_9_ms=p99_9,
        max_ms=most,
    )


def _server(observed: _Observed, requests: int) -> Server:
    seconds = _in_windows(observed.parts, observed.sampler.server_cpu_s)
    by_worker = observed.counted.requests_by_worker if observed.counted else None
    return Server(
        cpu_s=seconds,
        cpu_ms_per_request=seconds / requests * 1e3 if seconds is not None and requests else None,
        memory_bytes=observed.counted.memory_bytes if observed.counted else None,
        throttled_periods=observed.counted.throttled_periods if observed.counted else None,
        requests_by_worker=by_worker,
        fairness=fairness(list(by_worker.values())) if by_worker else None,
    )


def _generator(cores: Cores | None, seconds: float | None, window_s: float) -> Generator:
    if cores is None:
        return Generator(cpu_share=None, cores=None, shares_cores_with_server=None)
    return Generator(
        cpu_share=seconds / (window_s * len(cores.generator)) if seconds is not None else None,
        cores=tuple(sorted(cores.generator)),
        shares_cores_with_server=cores.shared,
    )


def _in_windows(parts: Sequence[HistogramFile], cpu_s: Callable[[int, int], float | None]) -> float | None:
    seconds = [cpu_s(part.window.start_unix_ns, part.window.end_unix_ns) for part in parts if part.window]
    known = [value for value in seconds if value is not None]
    return sum(known) if known and len(known) == len(seconds) else None
