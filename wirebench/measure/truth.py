"""A load against a server whose latency is known (accuracy/truth): what a driver measured, beside the truth."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wirebench.drivers import DRIVERS, Job
from wirebench.errors import WirebenchError
from wirebench.model.cell import Cell
from wirebench.model.contract import Transport
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system import processes
from wirebench.system.files import name_temporary
from wirebench.system.paths import TOOLS
from wirebench.system.ports import LOOPBACK, reserve_ports, wait_ready
from wirebench.targets.cores import Cores

SERVER = TOOLS / "truth"
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class TruthMeasurement:
    """The window of a load as the server and as the driver saw it.

    `unstamped` requests have no timestamp of the kernel: for the server they arrived when it read them.
    """

    truth: Histogram
    file: HistogramFile
    window_s: float
    unstamped: int


def measure_truth(cell: Cell, load: Load, behaviour: Sequence[str], seed: int, cores: Cores) -> TruthMeasurement:
    """Send a cell's load once to a server with these flags, each on cores of its own. Raises WirebenchError."""
    with tempfile.TemporaryDirectory(prefix=name_temporary()) as name:
        folder = Path(name)
        flags = [*behaviour, "-seed", str(seed)]
        with run_server(cell.transport, flags, cores.server, folder / "truth.log") as (port, admin_port):
            output, log = folder / "histograms.json", folder / "driver.log"
            job = Job(cell, load, f"{LOOPBACK}:{port}", seed, 1, output, log, cores.generator)
            file = DRIVERS[cell.driver].run(job, lambda _: None)
            window = file.require_window()
            with socket.create_connection((LOOPBACK, admin_port), timeout=_TIMEOUT_S) as admin:
                admin.sendall(f"{window.start_unix_ns} {window.end_unix_ns}\n".encode())
                truth = json.loads(admin.makefile().readline())
    if truth["requests_lost"]:
        raise WirebenchError(f"the server had no room for {truth['requests_lost']:,} requests", "shorten the window")
    if not file.merge_histograms("service").count:
        raise WirebenchError(
            "no request succeeded", f"the driver says: {', '.join(map(str, file.errors)) or 'nothing'}"
        )
    latencies = Histogram.decode(truth["histogram"])
    return TruthMeasurement(latencies, file, window.duration_s, truth["requests_without_kernel_timestamp"])


def compute_error_ms(truth: Histogram, measured: Histogram, quantile: float) -> tuple[float, float] | None:
    """Return the truth at a quantile and the driver's error, in ms; None if no request lies beyond the quantile."""
    if min(truth.count, measured.count) * (1 - quantile) < 1:
        return None
    (true_ns,), (measured_ns,) = truth.compute_quantiles_ns(quantile), measured.compute_quantiles_ns(quantile)
    return true_ns / 1e6, (measured_ns - true_ns) / 1e6


@contextmanager
def run_server(
    transport: Transport, flags: Sequence[str], cores: frozenset[int], log: Path
) -> Iterator[tuple[int, int]]:
    """Run a server while the block runs; yield its port and that of its admin address. Raises ProcessError."""
    with reserve_ports(2) as ports:
        port, admin_port = ports
    addresses = ["-listen", f"{LOOPBACK}:{port}", "-admin", f"{LOOPBACK}:{admin_port}"]
    command = [SERVER, "-transport", transport, *addresses, *flags]
    child = processes.start("truth", command, log, cores)
    try:
        wait_ready(child, lambda: "serves on" in log.read_text(), _TIMEOUT_S)
        yield port, admin_port
    finally:
        child.stop()
