"""Memory and CPU time of wireload: 10,000 connections, ten million requests, and a request of an open load.

The server answers at once. Memory is the most that was resident.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.report_run import cell
from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.capacity import find_shortfall, raise_open_files, read_capacity
from wirebench.measure.truth import run_server
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.model.histogram_file import OK
from wirebench.model.scenario import Load
from wirebench.system import processes
from wirebench.system.paths import TOOLS
from wirebench.system.ports import LOOPBACK
from wirebench.system.processes import Child, read_cpu_s
from wirebench.targets import divide_cores

CONNECTIONS = 10_000
CONNECTIONS_FEW = 10
CALLS = 10
KIB_A_CONNECTION_MAX = 40.0

SAMPLES = 10_000_000
SAMPLING_CONNECTIONS = 16
#: Long enough for about a tenth of them. How long all take follows from it, with a margin.
FIRST_S = 12.0
MARGIN = 1.1
GROWTH_MAX = 1.1

RATE_PER_S = 1_500
RATE_CONNECTIONS = 64
RATE_S = 10.0
CPU_US_MAX = 60.0

#: All calls together may take so long.
_CALLS_S_MAX = 500.0
_POLL_S = 0.01
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a whole load came to, and what wireload took for it."""

    requests: dict[str, int]
    dropped: int
    memory_kib: int
    cpu_s: float


def main() -> bool:
    """Measure all; return whether every limit is kept."""
    raise_open_files(read_capacity())
    verdicts = [_check_connections(transport) for transport in TRANSPORTS]
    verdicts.append(_check_samples("socket"))
    least_us = _measure_least_cpu_us()
    verdicts += [_check_cpu(transport, least_us) for transport in TRANSPORTS]
    return all(verdicts)


def _check_connections(transport: Transport) -> bool:
    name = f"{transport}, {CONNECTIONS:,} connections"
    of = cell(transport, concurrency=CONNECTIONS)
    if missing := _explain_shortfall(of) or explain_port_shortfall(CONNECTIONS):
        print(f"{name}: FAILED: {missing}", flush=True)
        return False
    load = Load(model="calls", calls=CALLS, window_s=_CALLS_S_MAX)
    few, many = _measure(cell(transport, concurrency=CONNECTIONS_FEW), load), _measure(of, load)
    kib = (many.memory_kib - few.memory_kib) / (CONNECTIONS - CONNECTIONS_FEW)
    answered = many.requests == {OK: CALLS * CONNECTIONS}
    good = answered and kib <= KIB_A_CONNECTION_MAX
    print(
        f"{name}: {_count(many)} of {CALLS * CONNECTIONS:,} requests, {kib:.1f} KiB a connection, "
        f"limits: all ok, {KIB_A_CONNECTION_MAX:g} KiB: {'ok' if good else 'OVER' if answered else 'FAILED'}",
        flush=True,
    )
    return good


def _check_samples(transport: Transport) -> bool:
    of = cell(transport, concurrency=SAMPLING_CONNECTIONS)
    fewer = _measure(of, Load(warmup_s=0, window_s=FIRST_S))
    more = _measure(of, Load(warmup_s=0, window_s=math.ceil(MARGIN * FIRST_S * SAMPLES / fewer.requests[OK])))
    growth = more.memory_kib / fewer.memory_kib
    answered = more.requests.keys() == {OK} and more.requests[OK] >= SAMPLES
    good = answered and growth <= GROWTH_MAX
    print(
        f"{transport}: {fewer.memory_kib / 1024:.1f} MiB after {_count(fewer)} requests, "
        f"{more.memory_kib / 1024:.1f} MiB after {_count(more)}; ratio {growth:.2f}, "
        f"limits: {SAMPLES:,} ok, {GROWTH_MAX}: {'ok' if good else 'OVER' if answered else 'FAILED'}",
        flush=True,
    )
    return good


def _measure_least_cpu_us() -> float:
    """Return what a request takes of a program that only sleeps, sends and receives: waking up costs most of it."""
    cores = divide_cores()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_server("rest", ["-behaviour", "null"], cores.server, folder / "truth.log") as (port, _):
            command: list[str | Path] = [TOOLS / "bare-go", "pace", str(port), str(RATE_PER_S), f"{RATE_S:.0f}"]
            child = processes.start("bare-go", command, folder / "pace.log", cores.generator)
            try:
                child.wait(2 * RATE_S)
            finally:
                child.stop()
        return float((folder / "pace.log").read_text(encoding="ascii"))


def _check_cpu(transport: Transport, least_us: float) -> bool:
    of = cell(transport, concurrency=RATE_CONNECTIONS, rate_per_s=RATE_PER_S)
    usage = _measure(of, Load(model="open", warmup_s=0, window_s=RATE_S))
    us = usage.cpu_s / sum(usage.requests.values()) * 1e6
    answered = usage.requests.keys() == {OK} and not usage.dropped
    good = answered and us <= CPU_US_MAX
    print(
        f"{transport}, {RATE_PER_S:,} requests/s on {RATE_CONNECTIONS} connections: {us:.1f} µs of CPU time a request "
        f"({_count(usage)}), {us / least_us:.2f}× of {least_us:.1f} µs for one that only sleeps, sends and receives; "
        f"limit {CPU_US_MAX:g} µs: {'ok' if good else 'OVER' if answered else 'FAILED'}",
        flush=True,
    )
    return good


def _count(usage: Usage) -> str:
    """Return the number of requests by how they ended."""
    return ", ".join(f"{count:,} {code}" for code, count in sorted(usage.requests.items()))


def _explain_shortfall(of: Cell) -> str:
    """Return why this machine can't open a cell's connections; empty if it can."""
    shortfall = find_shortfall([of], read_capacity())
    return f"wireload needs {shortfall.needed}; {shortfall.available}" if shortfall else ""


def explain_port_shortfall(connections: int, ports: Path = _PORTS) -> str:
    """Return why a client has too few ports for so many connections to one address; empty if it has enough."""
    try:
        first, last = map(int, ports.read_text(encoding="ascii").split())
    except OSError:  # Only Linux has this file.
        return ""
    if last - first + 1 >= connections:
        return ""
    return (
        f"{last - first + 1:,} ports are for clients (net.ipv4.ip_local_port_range); "
        "next: sysctl -w net.ipv4.ip_local_port_range='16384 60999'"
    )


def _measure(of: Cell, load: Load) -> Usage:
    """Send a load as runs do. Raises WirebenchError."""
    cores = divide_cores()
    memory_kib, cpu_s = 0, 0.0

    def watch(child: Child) -> None:
        nonlocal memory_kib, cpu_s
        while child.process.poll() is None:
            memory_kib = read_peak_memory_kib(child.pid) or memory_kib
            cpu_s = read_cpu_s(child.pid) or cpu_s
            time.sleep(_POLL_S)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with run_server(of.transport, ["-behaviour", "null"], cores.server, folder / "truth.log") as (port, _):
            output, log = folder / "histograms.json", folder / "wireload.log"
            job = Job(of, load, f"{LOOPBACK}:{port}", 1, 1, output, log, cores.generator)
            (file,) = DRIVERS["wireload"].run(job, watch)
    return Usage(file.requests_total, file.dropped_iterations, memory_kib, cpu_s)


def read_peak_memory_kib(pid: int) -> int | None:
    """Return the most memory that a process has had resident, in KiB; None once it has ended."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
