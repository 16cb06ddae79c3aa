"""The admin port, in the command's process, outside the server's processes: `/livez`, `/readyz` and `/metrics`.

It reads the files of prometheus_client's multiprocess mode, and the CPU time and memory of this process and its
descendants.
"""

import contextlib
import http.client
import re
import socket
import struct
import threading
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from wirebench_services.settings import Settings, format_address

_PROBE_TIMEOUT_S, _READY_TIMEOUT_S = 2.0, 5.0
#: Of cgroup version 2 and of version 1; in a container they are the container's own.
_CPU_STAT_FILES = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))


class NotReadyError(Exception):
    """Why the service isn't ready, in one line."""


def _read_version() -> str:
    try:
        return version("wirebench-services")
    except PackageNotFoundError:  # one wheel has all distributions of the project
        return version("wirebench")


class ServiceCollector(Collector):
    """What the service is, and what its processes use."""

    def __init__(self, settings: Settings) -> None:
        self._build = {
            "transport": settings.transport,
            "runtime": settings.runtime,
            "implementation": "python",
            "store": settings.store,
            "version": _read_version(),
        }

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("wirebench_build", "What this service is; always 1.", self._build)
        command = psutil.Process()
        cpu_s, memory_bytes = 0.0, 0
        for process in (command, *command.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                cpu_s += sum(process.cpu_times()[:4])  # with that of children that have ended
                memory_bytes += process.memory_info().rss
        yield CounterMetricFamily("wirebench_cpu_seconds", "CPU time of the service's processes.", cpu_s)
        yield GaugeMetricFamily("wirebench_memory_bytes", "Resident memory of the service's processes.", memory_bytes)
        for path in _CPU_STAT_FILES:
            if path.exists() and (throttled := re.search(r"nr_throttled (\d+)", path.read_text())):
                name = "wirebench_cpu_throttled_periods"
                yield CounterMetricFamily(name, "Periods in which the cgroup reached its CPU limit.", int(throttled[1]))


def create_app(settings: Settings, metrics_folder: Path) -> Starlette:
    """Create the application of the admin port. Starlette runs its handlers in threads, because they block."""
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, str(metrics_folder))  # type: ignore[no-untyped-call]
    registry.register(ServiceCollector(settings))

    def check_live(_: Request) -> Response:
        probe(settings)
        return PlainTextResponse("ok\n")

    def check_ready(_: Request) -> Response:
        forget_dead_workers(metrics_folder)
        started = int(registry.get_sample_value("wirebench_workers") or 0)
        if started < settings.workers:
            raise NotReadyError(f"{started} of {settings.workers} workers have started")
        probe(settings)
        if settings.store == "postgres":
            check_postgres(settings)
        return PlainTextResponse("ok\n")

    def export_metrics(_: Request) -> Response:
        forget_dead_workers(metrics_folder)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    def explain(_: Request, error: Exception) -> Response:
        # prometheus_client creates a worker's file empty and then lets it grow: to a reader in between it is too short.
        reason = "a worker is creating its metrics file" if isinstance(error, struct.error) else error
        return PlainTextResponse(f"{reason}\n", HTTPStatus.SERVICE_UNAVAILABLE)

    routes = [Route("/livez", check_live), Route("/readyz", check_ready), Route("/metrics", export_metrics)]
    return Starlette(routes=routes, exception_handlers={NotReadyError: explain, struct.error: explain})


@contextlib.contextmanager
def serve_admin(settings: Settings, metrics_folder: Path) -> Iterator[None]:
    """Serve the admin port in a thread, which ends with the context: Python may crash when it exits beside one."""
    app = create_app(settings, metrics_folder)
    port = settings.admin_port or 0
    config = uvicorn.Config(app, host=settings.host, port=port, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="admin")
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def is_ready(settings: Settings) -> bool:
    """Return whether `/readyz` answers 200."""
    try:
        _probe_http(settings.host, settings.admin_port or 0, "/readyz", _READY_TIMEOUT_S)
    except (OSError, http.client.HTTPException):
        return False
    return True


def forget_dead_workers(metrics_folder: Path) -> None:
    """Drop the gauges of workers that have ended; their counters stay."""
    for path in metrics_folder.glob("gauge_live*_*.db"):
        pid = int(path.stem.rpartition("_")[2])
        if not psutil.pid_exists(pid):
            multiprocess.mark_process_dead(pid, str(metrics_folder))  # type: ignore[no-untyped-call]


def probe(settings: Settings) -> None:
    """Send a health request to the service's port; with TLS, only connect. Raises NotReadyError."""
    host, port = settings.host, settings.port  # connecting to 0.0.0.0 or :: reaches this machine
    probes = {"rest": _probe_http, "grpc": _probe_grpc, "socket": _probe_socket}
    try:
        if settings.tls_cert is None:
            probes[settings.transport](host, port)
        else:
            socket.create_connection((host, port), _PROBE_TIMEOUT_S).close()
    except (OSError, http.client.HTTPException) as error:
        raise NotReadyError(f"port {port} does not answer: {error}") from error


def _probe_http(host: str, port: int, path: str = "/healthz", timeout_s: float = _PROBE_TIMEOUT_S) -> None:
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=timeout_s)) as connection:
        connection.request("GET", path)
        if (status := connection.getresponse().status) != HTTPStatus.OK:
            raise OSError(f"{path} answered {status}")


def _probe_grpc(host: str, port: int) -> None:
    import grpc  # noqa: PLC0415 - a process loads only what it runs
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    with grpc.insecure_channel(format_address(host, port)) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            stub.Check(health_pb2.HealthCheckRequest(), timeout=_PROBE_TIMEOUT_S)
        except grpc.RpcError as error:
            raise OSError(error.code().name) from None


def _probe_socket(host: str, port: int) -> None:
    with socket.create_connection((host, port), _PROBE_TIMEOUT_S) as connection:
        connection.sendall(b"health\n")
        if connection.recv(16) != b"HEALTH\n":
            raise OSError("unexpected answer")


def check_postgres(settings: Settings) -> None:
    """Check that the database is there with our tables. Raises NotReadyError."""
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - a process loads only what it runs

    from wirebench_services.application.stores.tables import has_tables  # noqa: PLC0415

    try:
        is_migrated = has_tables(settings.store_url)
    except DBAPIError as error:
        # libpq's first line names the problem.
        raise NotReadyError(str(error.orig).partition("\n")[0]) from None
    if not is_migrated:
        raise NotReadyError("the database has no wirebench tables; run: wirebench-store migrate")
