"""Server CPU per `users.get`, metrics on, against the bare framework that answers a constant on the same runtime."""

from __future__ import annotations

import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from wirebench import processes
from wirebench.drivers import K6, Job
from wirebench.measure.observe import CLOCK_INTERVAL_S
from wirebench.measure.usage import Watch, cpu_s, of_processes, process_tree
from wirebench.processes import Child
from wirebench.scenario import Cell, Load, ServiceSpec
from wirebench.scenario.contract import Transport
from wirebench.targets import Endpoint, LocalTarget, Replica, divide_cores

REPETITIONS = 5
CONNECTIONS = 32
SECONDS = 2.0
_START_TIMEOUT_S = 20.0

#: Transport, runtime, and the most that the service may cost of the bare framework.
LIMITS: tuple[tuple[Transport, str, float], ...] = (
    ("rest", "gunicorn-gthread", 1.2),
    ("rest", "uvicorn", 1.2),
    ("grpc", "sync", 1.2),
    ("grpc", "aio", 1.2),
    ("socket", "asyncio", 2.0),
)


def main() -> bool:
    """Measure all runtimes; return whether all keep their limits."""
    verdicts = [_compare(*limit) for limit in LIMITS]
    return all(verdicts)


def _compare(transport: Transport, runtime: str, limit: float) -> bool:
    cores = divide_cores()
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        target = LocalTarget(cores, lambda name: folder / f"{name}.log")
        try:
            (service,) = target.start([ServiceSpec(transport, runtime, 1, None, "memory")]).values()
            with _bare(runtime, folder / "bare.log", cores.server) as bare:
                both = (service, bare)
                pairs = [
                    [_cpu_us(transport, each, folder, cores.generator) for each in both] for _ in range(REPETITIONS)
                ]
        finally:
            target.stop()
    ratios = [ours / theirs for ours, theirs in pairs]
    median = statistics.median(ratios)
    ours_us, theirs_us = (statistics.median(column) for column in zip(*pairs, strict=True))
    spread = f"{min(ratios):.2f}–{max(ratios):.2f} in {REPETITIONS} pairs"
    verdict = "ok" if median <= limit else "OVER"
    print(f"{transport} {runtime}: service {ours_us:.1f} µs a request, bare framework {theirs_us:.1f};", end=" ")
    print(f"ratio {median:.2f} ({spread}), limit {limit}: {verdict}", flush=True)
    return median <= limit


@contextmanager
def _bare(runtime: str, log: Path, cores: frozenset[int]) -> Iterator[Endpoint]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.bare", runtime, str(port)]
    child = processes.start(f"bare {runtime}", command, log, cores)
    try:
        _wait_for(port, child)
        spec = ServiceSpec("rest", runtime, 1, None, "memory")
        yield Endpoint(spec, f"127.0.0.1:{port}", (Replica("bare", None, child.pid),))
    finally:
        child.stop()


def _wait_for(port: int, child: Child) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        child.check_alive()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise processes.ProcessError(f"{child.name} did not listen after {_START_TIMEOUT_S:.0f} s")


def _cpu_us(transport: Transport, endpoint: Endpoint, folder: Path, cores: frozenset[int]) -> float:
    """Return the CPU time of one request, in microseconds."""
    pids = process_tree(endpoint.replicas[0].root_pid or 0)
    if transport == "socket":
        return _socket_cpu_us(pids, endpoint.address, folder / "load.log", cores)
    cell = Cell(
        transport=transport,
        runtime=endpoint.service.runtime,
        driver="k6",
        operation="users.get",
        concurrency=CONNECTIONS,
        rate_per_s=None,
        workers=1,
        threads=None,
        store="memory",
        codec="protobuf" if transport == "grpc" else "json",
        connection="keep",
    )
    load = Load(warmup_s=0.5, window_s=SECONDS)
    job = Job(cell, load, endpoint.address, 1, 1, folder / "histograms.json", folder / "k6.log", cores)
    with Watch(partial(of_processes, pids), CLOCK_INTERVAL_S) as server:
        (file,) = K6().run(job, lambda _: None)
    window = file.checked_window()
    used = server.between(window.start_unix_ns, window.end_unix_ns)
    return (used.cpu_s or 0.0 if used else 0.0) / sum(file.counts_by_code().values()) * 1e6


def _socket_cpu_us(pids: tuple[int, ...], address: str, log: Path, cores: frozenset[int]) -> float:
    """Load with a client of our own: k6 can't saturate this server, and a server that waits costs more a request."""
    host, _, port = address.rpartition(":")
    log.unlink(missing_ok=True)
    before = sum(cpu_s(pid) or 0.0 for pid in pids)
    arguments = [host, port, str(CONNECTIONS), str(SECONDS)]
    child = processes.start("socket load", [sys.executable, "-m", "benchmarks.socket_load", *arguments], log, cores)
    try:
        child.wait(SECONDS + _START_TIMEOUT_S)
    finally:
        child.stop()
    used_s = sum(cpu_s(pid) or 0.0 for pid in pids) - before
    return used_s / int(log.read_text(encoding="ascii")) * 1e6
