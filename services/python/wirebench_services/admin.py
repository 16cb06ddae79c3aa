"""The admin port, in a process beside the server: `/livez`, `/readyz` and `/metrics`.

It reads the same environment variables as the server, the files of prometheus_client's multiprocess mode, and the CPU
time and memory of a process and its descendants.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import psutil
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from wirebench_services.probes import NotReadyError, check_postgres, probe
from wirebench_services.settings import SETTINGS, Settings, read_settings

#: Of cgroup version 2 and of version 1; in a container they are the container's own.
_CPU_STAT_FILES = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))


class ServiceCollector(Collector):
    """What the service is, and what its processes use."""

    def __init__(self, settings: Settings, root: psutil.Process) -> None:
        self._root = root
        self._labels = {
            "transport": settings.transport,
            "runtime": settings.runtime,
            "implementation": "python",
            "store": settings.store.partition(":")[0],
            "version": version("wirebench-services"),
        }

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; what can't be read is left out."""
        build = GaugeMetricFamily("wirebench_build_info", "What this service is; always 1.", labels=tuple(self._labels))
        build.add_metric(tuple(self._labels.values()), 1)
        yield build
        cpu_s, memory_bytes = 0.0, 0
        for process in (self._root, *self._root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                cpu_s += sum(process.cpu_times()[:4])  # with that of children that have ended
                memory_bytes += process.memory_info().rss
        yield CounterMetricFamily("wirebench_cpu_seconds", "CPU time of the service's processes.", cpu_s)
        yield GaugeMetricFamily("wirebench_memory_bytes", "Resident memory of the service's processes.", memory_bytes)
        for path in _CPU_STAT_FILES:
            with contextlib.suppress(OSError, KeyError):
                throttled = dict(line.split() for line in path.read_text().splitlines())["nr_throttled"]
                name = "wirebench_cpu_throttled_periods"
                yield CounterMetricFamily(name, "Periods in which the cgroup reached its CPU limit.", int(throttled))
                return


class Exporter(ThreadingHTTPServer):
    """The HTTP server of the admin port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, settings: Settings, root_pid: int) -> None:
        self.settings = settings
        self.registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(self.registry)  # type: ignore[no-untyped-call]
        self.registry.register(ServiceCollector(settings, psutil.Process(root_pid)))
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.admin_port or 0), _Handler)

    def forget_dead_workers(self) -> None:
        """Drop the gauges of workers that have ended; their counters stay."""
        for path in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob("gauge_live*_*.db"):
            pid = int(path.stem.rpartition("_")[2])
            if not psutil.pid_exists(pid):
                multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def check_ready(self) -> None:
        """Check the workers, the port and the store. Raises NotReadyError."""
        started = int(self.registry.get_sample_value("wirebench_workers") or 0)
        if started < self.settings.workers:
            raise NotReadyError(f"{started} of {self.settings.workers} workers have started")
        probe(self.settings)
        if self.settings.store == "postgres":
            check_postgres(self.settings.store_url)


class _Handler(BaseHTTPRequestHandler):
    server: Exporter

    def do_GET(self) -> None:
        status, content_type, body = HTTPStatus.OK, "text/plain", b"ok\n"
        self.server.forget_dead_workers()
        try:
            match self.path:
                case "/metrics":
                    content_type, body = CONTENT_TYPE_LATEST, generate_latest(self.server.registry)
                case "/livez":
                    probe(self.server.settings)
                case "/readyz":
                    self.server.check_ready()
                case _:
                    status, body = HTTPStatus.NOT_FOUND, b"there are /livez, /readyz and /metrics\n"
        except NotReadyError as error:
            status, body = HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Log no requests: probes come every second."""


def main() -> None:
    """Serve the admin port until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m wirebench_services.exporter", description=__doc__)
    parser.add_argument("transport", choices=SETTINGS)
    parser.add_argument("--pid", type=int, required=True, help="process whose tree is the service")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        contextlib.suppress(KeyboardInterrupt),
        Exporter(read_settings(SETTINGS[given.transport]), given.pid) as server,
    ):
        server.serve_forever()


if __name__ == "__main__":
    main()
