"""Many connections at once: every asynchronous runtime serves them all, each several times, without an error."""

from __future__ import annotations

from benchmarks.load import send_load, start_service
from wirebench.errors import WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import OK
from wirebench.model.scenario import Load
from wirebench.targets import divide_cores

CONNECTIONS = 4096
CALLS = 10
RUNTIMES: tuple[tuple[Transport, str], ...] = (("rest", "uvicorn"), ("grpc", "aio"), ("socket", "asyncio"))


def main() -> bool:
    """Try all runtimes; return whether none made an error."""
    verdicts = [_serves(transport, runtime) for transport, runtime in RUNTIMES]
    return all(verdicts)


def _serves(transport: Transport, runtime: str) -> bool:
    cores, load = divide_cores(), Load(model="calls", calls=CALLS)
    try:
        with start_service(ServiceSpec(transport, runtime, 1, None, "memory"), cores) as (service, folder):
            observed = send_load(service, folder, cores.generator, load, CONNECTIONS)
        answered, window_s = observed.file.requests_total.get(OK, 0), observed.window_s
        verdict = "ok" if answered == CALLS * CONNECTIONS else f"FAILED: {observed.file.requests_total}"
    except WirebenchError as error:
        verdict, answered, window_s = f"FAILED: {error.message}", 0, 0.0
    print(
        f"{transport} {runtime}: {CONNECTIONS:,} connections, {CALLS} calls on each, {answered:,} answered "
        f"in {window_s:.1f} s: {verdict}",
        flush=True,
    )
    return verdict == "ok"
