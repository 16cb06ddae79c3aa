"""How many transactions a second one core of a server streams, to readers that keep up with it.

The figure is items by second of the server's CPU time: what a core gives that does nothing else, and on a machine
that others use too a steadier one than items by second of the clock, which stands beside it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from wirebench import processes
from wirebench.measure.usage import process_tree
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import TRANSPORTS, Transport
from wirebench.targets import Cores, Endpoint, LocalTarget, divide_cores

REPETITIONS = 3
STREAMS = 2
#: That a whole stream has.
ITEMS = 100_000
_TIMEOUT_S = 120.0

#: Items a second that every runtime of a transport has to reach.
LEAST_PER_S: dict[Transport, int] = {"socket": 50_000, "grpc": 15_000, "rest": 15_000}


class _Rates(NamedTuple):
    per_cpu_s: float
    per_s: float


def main() -> bool:
    """Measure all runtimes; return whether all reach what is asked of them."""
    print(f"{STREAMS} whole streams at once, {REPETITIONS} times; the server on one core, its readers on another")
    runtimes = [
        (transport, runtime) for transport in LEAST_PER_S for runtime in TRANSPORTS[transport].runtimes["python"]
    ]
    verdicts = [_reaches(transport, runtime) for transport, runtime in runtimes]
    return all(verdicts)


def _reaches(transport: Transport, runtime: str) -> bool:
    halves = divide_cores()
    cores = Cores(frozenset({min(halves.server)}), halves.generator)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        target = LocalTarget(cores, lambda name: folder / f"{name}.log")
        try:
            (service,) = target.start([ServiceSpec(transport, runtime, 1, None, "memory")]).values()
            rates = [_rates(transport, service, folder / "load.log", cores.generator) for _ in range(REPETITIONS)]
        finally:
            target.stop()
    per_cpu_s = statistics.median(each.per_cpu_s for each in rates)
    per_s = statistics.median(each.per_s for each in rates)
    least = LEAST_PER_S[transport]
    verdict = "ok" if per_cpu_s >= least else "UNDER"
    print(
        f"{transport} {runtime}: {per_cpu_s:,.0f} items a second of CPU time ({1e6 / per_cpu_s:.1f} µs each),", end=" "
    )
    print(f"{per_s:,.0f} by the clock; at least {least:,}: {verdict}", flush=True)
    return per_cpu_s >= least


def _rates(transport: Transport, service: Endpoint, log: Path, cores: frozenset[int]) -> _Rates:
    pids = process_tree(service.replicas[0].root_pid or 0)
    host, _, port = service.address.rpartition(":")
    command = [sys.executable, "-m", "benchmarks.stream_load", transport, host, port, str(STREAMS)]
    before_cpu_s, before_s = _cpu_s(pids), time.monotonic()
    child = processes.start("stream load", command, log, cores)
    try:
        child.wait(_TIMEOUT_S)
    finally:
        child.stop()
    items = STREAMS * ITEMS
    return _Rates(items / (_cpu_s(pids) - before_cpu_s), items / (time.monotonic() - before_s))


def _cpu_s(pids: tuple[int, ...]) -> float:
    return sum(processes.read_cpu_s(pid) or 0.0 for pid in pids)
