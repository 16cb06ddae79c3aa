"""Many connections at once: every asynchronous runtime serves them all, each several times, without an error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.load import send_load
from wirebench.errors import WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import OK
from wirebench.model.scenario import Load
from wirebench.targets import LocalTarget, divide_cores

CONNECTIONS = 4096
CALLS = 10
RUNTIMES: tuple[tuple[Transport, str], ...] = (("rest", "uvicorn"), ("grpc", "aio"), ("socket", "asyncio"))


def main() -> bool:
    """Try all runtimes; return whether none made an error."""
    verdicts = [_serves(transport, runtime) for transport, runtime in RUNTIMES]
    return all(verdicts)


def _serves(transport: Transport, runtime: str) -> bool:
    cores = divide_cores()
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        target = LocalTarget(cores, lambda name: folder / f"{name}.log")
        try:
            (service,) = target.start([ServiceSpec(transport, runtime, 1, None, "memory")]).values()
            observed = send_load(service, folder, cores.generator, Load(model="calls", calls=CALLS), CONNECTIONS)
        except WirebenchError as error:
            verdict, answered, window_s = f"FAILED: {error.message}", 0, 0.0
        else:
            answered, window_s = observed.file.requests_total.get(OK, 0), observed.window_s
            verdict = "ok" if answered == CALLS * CONNECTIONS else f"FAILED: {observed.file.requests_total}"
        finally:
            target.stop()
    print(
        f"{transport} {runtime}: {CONNECTIONS:,} connections, {CALLS} calls on each, {answered:,} answered "
        f"in {window_s:.1f} s: {verdict}",
        flush=True,
    )
    return verdict == "ok"
