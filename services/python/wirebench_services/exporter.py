"""The admin port, in a process beside the server: `/livez`, `/readyz` and `/metrics`.

python -m wirebench_services.exporter rest|grpc|socket --pid PID

It reads the same environment variables as the server, the files of prometheus_client's multiprocess mode, and the CPU
time and memory of the process PID and its descendants.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import signal
import socket
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from wirebench_services.settings import GrpcSettings, RestSettings, Settings, SocketSettings, read_settings

SETTINGS: dict[str, type[Settings]] = {kind.transport: kind for kind in (RestSettings, GrpcSettings, SocketSettings)}
_PROBE_TIMEOUT_S = 2.0
#: Of version 2, and of version 1; in a container they are the container's own.
_CPU_STAT_FILES = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))


class NotReadyError(Exception):
    """Why the service isn't ready, in one line."""


class Exporter:
    """What the admin port tells about a service."""

    def __init__(self, settings: Settings, root_pid: int) -> None:
        self._settings = settings
        self._process = psutil.Process(root_pid)
        self._registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(ServiceCollector(settings, self._process))

    def render_metrics(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        forget_dead_workers()
        return generate_latest(self._registry)

    def check_live(self) -> None:
        """Probe the service's own port. Raises NotReadyError."""
        try:
            probe(self._settings)
        except (OSError, http.client.HTTPException) as error:
            raise NotReadyError(f"port {self._settings.port} does not answer: {error}") from error

    def check_ready(self) -> None:
        """Check the workers, the port and the store. Raises NotReadyError."""
        forget_dead_workers()
        workers = count_workers()
        if workers < self._settings.workers:
            raise NotReadyError(f"{workers} of {self._settings.workers} workers have started")
        self.check_live()
        if self._settings.store == "postgres":
            check_postgres(self._settings.store_url)


class ServiceCollector(Collector):
    """What the service is, and what its processes use."""

    def __init__(self, settings: Settings, process: psutil.Process) -> None:
        self._settings = settings
        self._process = process

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; what can't be read is left out."""
        labels = {
            "transport": self._settings.transport,
            "runtime": self._settings.runtime,
            "implementation": "python",
            "store": self._settings.store.partition(":")[0],
            "version": version("wirebench-services"),
        }
        build = GaugeMetricFamily("wirebench_build_info", "What this service is; always 1.", labels=tuple(labels))
        build.add_metric(tuple(labels.values()), 1)
        yield build
        cpu_s, memory_bytes = read_process_tree(self._process)
        yield CounterMetricFamily("wirebench_cpu_seconds", "CPU time of the service's processes.", cpu_s)
        yield GaugeMetricFamily("wirebench_memory_bytes", "Resident memory of the service's processes.", memory_bytes)
        throttled = read_throttled_periods()
        if throttled is not None:
            yield CounterMetricFamily(
                "wirebench_cpu_throttled_periods", "Periods in which the cgroup reached its CPU limit.", throttled
            )


def read_process_tree(root: psutil.Process) -> tuple[float, int]:
    """Return CPU time in seconds, that of ended children included, and resident memory in bytes."""
    cpu_s, memory_bytes = 0.0, 0
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            cpu_s += times.user + times.system + times.children_user + times.children_system
            memory_bytes += process.memory_info().rss
    return cpu_s, memory_bytes


def read_throttled_periods() -> int | None:
    """Return in how many periods the cgroup reached its CPU limit; None if it doesn't count them."""
    for path in _CPU_STAT_FILES:
        with contextlib.suppress(OSError):
            fields = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
            if "nr_throttled" in fields:
                return int(fields["nr_throttled"])
    return None


def count_workers() -> int:
    """Return how many workers have started and are alive."""
    return len(_worker_pids())


def forget_dead_workers() -> None:
    """Drop the gauges of workers that have ended; their counters stay."""
    for pid in _worker_pids():
        if not psutil.pid_exists(pid):
            multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


def _worker_pids() -> list[int]:
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    return [int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_livesum_*.db") if path.stat().st_size]


def probe(settings: Settings) -> None:
    """Ask the service's own port: in its protocol, or with TLS whether it accepts connections. Raises OSError."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    if settings.tls_cert is not None:
        socket.create_connection((host, settings.port), _PROBE_TIMEOUT_S).close()
        return
    {"rest": _probe_rest, "grpc": _probe_grpc, "socket": _probe_socket}[settings.transport](host, settings.port)


def _probe_rest(host: str, port: int) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=_PROBE_TIMEOUT_S)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz", headers={"Connection": "close"})
        status = connection.getresponse().status
    if status != HTTPStatus.OK:
        raise OSError(f"/healthz answered {status}")


def _probe_grpc(host: str, port: int) -> None:
    import grpc  # noqa: PLC0415 - a process loads only what it runs
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    with grpc.insecure_channel(address) as channel:
        try:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            reply = stub.Check(health_pb2.HealthCheckRequest(), timeout=_PROBE_TIMEOUT_S)
        except grpc.RpcError as error:
            raise OSError(error.code().name) from None
    if reply.status != health_pb2.HealthCheckResponse.SERVING:
        raise OSError("not serving")


def _probe_socket(host: str, port: int) -> None:
    with socket.create_connection((host, port), _PROBE_TIMEOUT_S) as connection:
        connection.sendall(b"health\n")
        if connection.recv(16) != b"HEALTH\n":
            raise OSError("unexpected answer")


def check_postgres(url: str) -> None:
    """Check that the database is there with our tables. Raises NotReadyError."""
    import psycopg  # noqa: PLC0415 - a process loads only what it runs

    from wirebench_services.application.stores import schema  # noqa: PLC0415

    try:
        schema.check(url)
    except schema.SchemaError as error:
        raise NotReadyError(str(error)) from error
    except psycopg.Error:
        raise NotReadyError("the database can't be reached") from None


class _Handler(BaseHTTPRequestHandler):
    exporter: Exporter

    def do_GET(self) -> None:
        """Answer a probe or a scrape."""
        status, content_type, body = HTTPStatus.OK, "text/plain", b"ok\n"
        try:
            if self.path == "/metrics":
                content_type, body = CONTENT_TYPE_LATEST, self.exporter.render_metrics()
            elif self.path == "/livez":
                self.exporter.check_live()
            elif self.path == "/readyz":
                self.exporter.check_ready()
            else:
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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Serve the admin port until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m wirebench_services.exporter", description=__doc__)
    parser.add_argument("transport", choices=SETTINGS)
    parser.add_argument("--pid", type=int, required=True, help="process whose tree is the service")
    given = parser.parse_args()
    settings = read_settings(SETTINGS[given.transport])
    _Handler.exporter = Exporter(settings, given.pid)
    if ":" in settings.host:
        _Server.address_family = socket.AF_INET6
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt), _Server((settings.host, settings.admin), _Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
