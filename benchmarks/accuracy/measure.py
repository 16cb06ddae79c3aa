"""A driver against the server of known latency: what it measured, and the truth about the same window."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.conditions import FLAGS, LOADS, Case
from wirebench import processes
from wirebench.drivers import DRIVERS, Histogram, HistogramFile, Job
from wirebench.drivers.histogram_file import merge
from wirebench.errors import WirebenchError
from wirebench.places import CONTRACT, TOOLS
from wirebench.ports import LOOPBACK, free_ports
from wirebench.scenario import Cell, Load
from wirebench.scenario.contract import defaults
from wirebench.targets import Cores

WARMUP_S = 1.0
STALL_S = 1.0
_TIMEOUT_S = 20.0
_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Measurement:
    """The window of a load as the server and as the driver saw it.

    `unstamped` requests have no timestamp of the kernel: for the server they arrived when it read them.
    """

    truth: Histogram
    file: HistogramFile
    window_s: float
    unstamped: int


def merge_repetitions(parts: Sequence[Measurement]) -> Measurement:
    """Merge exactly: histograms and counts add up."""
    return Measurement(
        truth=sum((each.truth for each in parts), start=Histogram.empty()),
        file=merge([each.file for each in parts]),
        window_s=sum(each.window_s for each in parts),
        unstamped=sum(each.unstamped for each in parts),
    )


@contextmanager
def run_server(case: Case, flags: Sequence[str], cores: frozenset[int], log: Path) -> Iterator[tuple[int, int]]:
    """Run a server while the block runs; yield its port and that of its admin address. Raises ProcessError."""
    with free_ports(2) as ports:
        port, admin_port = ports
    addresses = ["-listen", f"{LOOPBACK}:{port}", "-admin", f"{LOOPBACK}:{admin_port}"]
    command = [TOOLS / "truth", "-transport", case.transport, *addresses, "-protoset", CONTRACT, *flags]
    child = processes.start("truth", command, log, cores)
    try:
        deadline = time.monotonic() + _TIMEOUT_S
        while "serves on" not in log.read_text():
            child.check_alive()
            if time.monotonic() > deadline:
                raise processes.ProcessError(f"truth was not ready after {_TIMEOUT_S:.0f} s", "try again")
            time.sleep(_POLL_S)
        yield port, admin_port
    finally:
        child.stop()


def ask(admin_port: int, start_unix_ns: int, end_unix_ns: int) -> dict[str, Any]:
    """Return the truth about a window."""
    address = (LOOPBACK, admin_port)
    with socket.create_connection(address, timeout=_TIMEOUT_S) as admin, admin.makefile("rw") as lines:
        lines.write(f"{start_unix_ns} {end_unix_ns}\n")
        lines.flush()
        truth: dict[str, Any] = json.loads(lines.readline())
        return truth


def measure(case: Case, seed: int, window_s: float, cores: Cores, folder: Path) -> Measurement:
    """Send the load once, with server and driver on cores of their own. Raises WirebenchError."""
    traffic = LOADS[case.load]
    stall = ["-stall-after", f"{WARMUP_S + (window_s - STALL_S) / 2}s", "-stall", f"{STALL_S}s"]
    flags = ["-behaviour", case.behaviour, "-seed", str(seed), *stall, *FLAGS.get(case.behaviour, ())]
    levels: dict[str, Any] = {
        **defaults(case.transport),
        "transport": case.transport,
        "driver": case.driver,
        "concurrency": traffic.concurrency,
        "rate_per_s": traffic.rate_per_s,
    }
    load = Load(model="open" if traffic.rate_per_s else "closed", warmup_s=WARMUP_S, window_s=window_s)
    output, log = folder / "histograms.json", folder / "driver.log"
    with run_server(case, flags, cores.server, folder / "truth.log") as (port, admin_port):
        job = Job(Cell(**levels), load, f"{LOOPBACK}:{port}", seed, 1, output, log, cores.generator)
        (file,) = DRIVERS[case.driver].run(job, lambda _: None)
        window = file.checked_window()
        truth = ask(admin_port, window.start_unix_ns, window.end_unix_ns)
    if truth["requests_lost"]:
        raise WirebenchError(f"the server had no room for {truth['requests_lost']:,} requests", "shorten --window")
    if not file.histogram("service").count:
        raise WirebenchError(
            "no request succeeded", f"the driver says: {', '.join(map(str, file.errors)) or 'nothing'}"
        )
    latencies = Histogram.decode(truth["histogram"])
    return Measurement(latencies, file, window.duration_s, truth["requests_without_kernel_timestamp"])
