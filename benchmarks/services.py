"""Server CPU per `users.get`, metrics on, against the bare framework that answers a constant, for every variant."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import bare
from benchmarks.load import send_load, start_service
from wirebench.measure.usage import list_process_ids
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Implementation, Transport
from wirebench.model.scenario import Load
from wirebench.system import processes
from wirebench.system.ports import reserve_ports
from wirebench.system.readiness import accepts_connections, wait_ready
from wirebench.targets import Endpoint, Replica, divide_cores

REPETITIONS = 5
CONNECTIONS = 32
SECONDS = 2.0
_START_TIMEOUT_S = 20.0


class Variant(NamedTuple):
    """A variant, and the limit of its CPU per request as a multiple of the bare framework's."""

    transport: Transport
    implementation: Implementation
    runtime: str
    limit: float


VARIANTS = (
    Variant("rest", "python", "gunicorn-gthread", 1.25),
    Variant("rest", "python", "uvicorn", 1.6),
    Variant("rest", "go", "net-http", 1.5),
    Variant("grpc", "python", "sync", 1.25),
    Variant("grpc", "python", "aio", 1.25),
    Variant("grpc", "go", "grpc-go", 1.3),
    Variant("socket", "python", "asyncio", 2.5),
    Variant("socket", "python", "threaded", 2.5),
    Variant("socket", "go", "goroutines", 2.5),
)


def main() -> bool:
    """Measure all variants; return whether all keep their limits."""
    verdicts = [compare(variant) for variant in VARIANTS]
    return all(verdicts)


def compare(variant: Variant) -> bool:
    """Measure a service and its bare framework in turn, and return whether the ratio keeps its limit."""
    cores = divide_cores()
    spec = ServiceSpec(variant.transport, variant.runtime, 1, None, "memory", implementation=variant.implementation)
    with (
        start_service(spec, cores) as (service, folder),
        start_bare(spec, folder / "bare.log", cores.server) as framework,
    ):
        pairs = [
            [measure_cpu_us(each, folder, cores.generator) for each in (service, framework)] for _ in range(REPETITIONS)
        ]
    ratios = [ours / theirs for ours, theirs in pairs]
    median = statistics.median(ratios)
    ours_us, theirs_us = (statistics.median(column) for column in zip(*pairs, strict=True))
    spread = f"{min(ratios):.2f}–{max(ratios):.2f} in {REPETITIONS} pairs"
    verdict = "ok" if median <= variant.limit else "OVER"
    name = f"{variant.transport} {variant.runtime}"
    print(f"{name}: service {ours_us:.1f} µs a request, bare framework {theirs_us:.1f};", end=" ")
    print(f"ratio {median:.2f} ({spread}), limit {variant.limit}: {verdict}", flush=True)
    return median <= variant.limit


@contextmanager
def start_bare(spec: ServiceSpec, log: Path, cores: frozenset[int]) -> Iterator[Endpoint]:
    """Start the bare framework of a service, and yield where it is."""
    with reserve_ports(1) as (port,):
        pass
    child = processes.start(f"bare {spec.runtime}", bare.make_command(str(spec.runtime), port), log, cores)
    try:
        wait_ready(child, partial(accepts_connections, bare.HOST, port), _START_TIMEOUT_S)
        yield Endpoint(spec, f"{bare.HOST}:{port}", (Replica("bare", None, child.pid),))
    finally:
        child.stop()


def measure_cpu_us(endpoint: Endpoint, folder: Path, cores: frozenset[int]) -> float:
    """Return the CPU time of one request, in microseconds."""
    if endpoint.service.transport == "socket":
        return _measure_socket_cpu_us(endpoint, folder / "load.log", cores)
    observed = send_load(endpoint, folder, cores, Load(warmup_s=0.5, window_s=SECONDS), CONNECTIONS)
    return (observed.server.cpu_s or 0.0) / sum(observed.file.count_by_code().values()) * 1e6


def _measure_socket_cpu_us(endpoint: Endpoint, log: Path, cores: frozenset[int]) -> float:
    """Load with a client that never sleeps: waking one up costs the server more than answering it does."""
    pids = list_process_ids(endpoint.replicas[0].root_pid or 0)
    host, _, port = endpoint.address.rpartition(":")
    log.unlink(missing_ok=True)
    before = sum(processes.read_cpu_s(pid) or 0.0 for pid in pids)
    arguments = [host, port, str(CONNECTIONS), str(SECONDS)]
    child = processes.start("socket load", [sys.executable, "-m", "benchmarks.socket_load", *arguments], log, cores)
    try:
        child.wait(SECONDS + _START_TIMEOUT_S)
    finally:
        child.stop()
    used_s = sum(processes.read_cpu_s(pid) or 0.0 for pid in pids) - before
    return used_s / int(log.read_text(encoding="ascii")) * 1e6
