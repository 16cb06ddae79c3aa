"""The admin port, in the command's process, outside the server's processes: `/livez`, `/readyz` and `/metrics`.

It reads the files of prometheus_client's multiprocess mode, and what the server's processes use.
"""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Collection, Iterator
from http import HTTPStatus
from pathlib import Path

import psutil
import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from wirebench_services.settings import Settings, read_store_url

_CONNECT_TIMEOUT_S = 2.0


class NotReadyError(Exception):
    """Why the service isn't ready, in one line."""


#: prometheus_client creates a worker's file empty and then lets it grow: to a reader in between it is too short.
NOT_READY = (NotReadyError, struct.error)


class ServiceCollector(Collector):
    """What the service is, and what its processes use, under the names of prometheus_client's ProcessCollector."""

    def __init__(self, settings: Settings) -> None:
        described = {name: getattr(settings, name) for name in ("transport", "runtime", "store")}
        self._build = {**described, "implementation": "python"}
        self._cpu_s = 0.0

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("wirebench_build", "What this service is; always 1.", self._build)
        command = psutil.Process()
        # Without this process's own CPU time: each look at these metrics takes some milliseconds.
        cpu_s, memory_bytes = sum(command.cpu_times()[2:4]), command.memory_info().rss
        for process in command.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                cpu_s += sum(process.cpu_times()[:4])  # with that of children that have ended
                memory_bytes += process.memory_info().rss
        self._cpu_s = max(self._cpu_s, cpu_s)  # one that ends meanwhile is missed once
        yield CounterMetricFamily("process_cpu_seconds", "CPU time of the server's processes.", self._cpu_s)
        yield GaugeMetricFamily("process_resident_memory_bytes", "Memory of the service's processes.", memory_bytes)


@contextlib.contextmanager
def serve_admin(settings: Settings, metrics_folder: Path) -> Iterator[Callable[[], None]]:
    """Serve the admin port in a thread, and yield what checks readiness, which raises NOT_READY.

    The thread ends with the context: Python may crash when it exits beside one.
    """
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, str(metrics_folder))  # type: ignore[no-untyped-call]
    registry.register(ServiceCollector(settings))

    def check_ready() -> None:
        started = int(registry.get_sample_value("wirebench_workers") or 0)
        if started < settings.workers:
            raise NotReadyError(f"{started} of {settings.workers} workers have started")
        check_port(settings)
        if settings.store == "postgres":
            check_postgres(settings)

    def export_metrics(_: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    # Starlette runs these in threads, because they block.
    def answer_live(_: Request) -> Response:
        check_port(settings)
        return PlainTextResponse("ok\n")

    def answer_ready(_: Request) -> Response:
        check_ready()
        return PlainTextResponse("ok\n")

    def explain(_: Request, error: Exception) -> Response:
        reason = error if isinstance(error, NotReadyError) else "a worker is creating its metrics file"
        return PlainTextResponse(f"{reason}\n", HTTPStatus.SERVICE_UNAVAILABLE)

    routes = [Route("/livez", answer_live), Route("/readyz", answer_ready), Route("/metrics", export_metrics)]
    app = Starlette(routes=routes, exception_handlers=dict.fromkeys(NOT_READY, explain))
    port = settings.admin_port or 0
    config = uvicorn.Config(app, host=settings.host, port=port, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=[[config.bind_socket()]], name="admin")
    thread.start()
    try:
        yield check_ready
    finally:
        server.should_exit = True
        thread.join()


def forget_dead_workers(metrics_folder: Path, groups: Collection[int]) -> set[int]:
    """Return workers that have died since the last call, and remove their gauges and empty files; counters stay.

    Workers are in the process groups: the number of a dead one may be another program's by now.
    """
    dead = set()
    for path in metrics_folder.glob("*_*.db"):
        pid = int(path.stem.rpartition("_")[2])
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) in groups:
                continue
        if path.name.startswith("gauge_live") or not path.stat().st_size:
            path.unlink()
            dead.add(pid)
    return dead


def check_port(settings: Settings) -> None:
    """Check that the service's port takes connections, however busy its workers are. Raises NotReadyError."""
    host = None if settings.host == "::" else settings.host  # None is this machine, by IPv6 or IPv4; 0.0.0.0 is it too
    try:
        socket.create_connection((host, settings.port), _CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise NotReadyError(f"port {settings.port} does not answer: {error}") from error


def check_postgres(settings: Settings) -> None:
    """Check that the database is there with our tables. Raises NotReadyError."""
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - a process loads only what it runs

    from wirebench_services.application.stores.tables import has_tables  # noqa: PLC0415

    try:
        is_migrated = has_tables(read_store_url(settings.store_url_file))
    except DBAPIError as error:
        # libpq's first line names the problem.
        raise NotReadyError(str(error.orig).partition("\n")[0]) from None
    if not is_migrated:
        raise NotReadyError("the database has no wirebench tables; run: wirebench-store migrate")
