"""How many transactions a second one core of a server streams, to readers that keep up with it.

The figure is items by second of the server's CPU time: what a core gives that does nothing else, and on a machine
that others use too a steadier one than items by second of the clock, which stands beside it.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from benchmarks.load import send_load, start_service
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.model.scenario import Load
from wirebench.targets import Cores, Endpoint, divide_cores

REPETITIONS = 3
STREAMS = 2
#: Of a whole stream.
ITEMS = 100_000
SECONDS = 3.0

#: Items a second that every runtime of a transport has to reach.
LEAST_PER_S: dict[Transport, int] = {"socket": 50_000, "grpc": 15_000, "rest": 15_000}


def main() -> bool:
    """Measure all runtimes; return whether all reach what is asked of them."""
    print(f"{STREAMS} streams at once for {SECONDS:g} s, {REPETITIONS} times; server and readers on a core each")
    runtimes = [
        (transport, runtime) for transport in LEAST_PER_S for runtime in TRANSPORTS[transport].runtimes["python"]
    ]
    verdicts = [_reaches(transport, runtime) for transport, runtime in runtimes]
    return all(verdicts)


def _reaches(transport: Transport, runtime: str) -> bool:
    halves = divide_cores()
    cores = Cores(*(frozenset({min(half)}) for half in (halves.server, halves.generator)))
    with start_service(ServiceSpec(transport, runtime, 1, None, "memory"), cores) as (service, folder):
        rates = [_rates(service, folder, cores.generator) for _ in range(REPETITIONS)]
    per_cpu_s = statistics.median(each for each, _ in rates)
    per_s = statistics.median(each for _, each in rates)
    least = LEAST_PER_S[transport]
    verdict = "ok" if per_cpu_s >= least else "UNDER"
    print(
        f"{transport} {runtime}: {per_cpu_s:,.0f} items a second of CPU time ({1e6 / per_cpu_s:.1f} µs each),", end=" "
    )
    print(f"{per_s:,.0f} by the clock; at least {least:,}: {verdict}", flush=True)
    return per_cpu_s >= least


def _rates(service: Endpoint, folder: Path, cores: frozenset[int]) -> tuple[float, float]:
    """Return items a second of CPU time, and by the clock."""
    load = Load(warmup_s=0.5, window_s=SECONDS)
    operation = "ledger.stream_transactions"
    observed = send_load(service, folder, cores, load, STREAMS, operation=operation, stream_items=ITEMS)
    items = observed.file.items
    return items / (observed.server.cpu_s or math.inf), items / observed.window_s
