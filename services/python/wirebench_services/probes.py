"""Probes of a service: its own port, and its database."""

from __future__ import annotations

import contextlib
import http.client
import socket
from http import HTTPStatus
from typing import Any

from wirebench_services.settings import Settings, format_address

_PROBE_TIMEOUT_S = 2.0


class NotReadyError(Exception):
    """Why the service isn't ready, in one line."""


def local_host(settings: Settings) -> str:
    """Return where a service that listens on the host is reached from this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104


def probe(settings: Settings) -> None:
    """Ask the service's own port in its protocol; with TLS, see whether it accepts connections.

    Raises NotReadyError.
    """
    host = local_host(settings)
    probes = {"rest": _probe_rest, "grpc": _probe_grpc, "socket": _probe_socket}
    try:
        if settings.tls_cert is None:
            probes[settings.transport](host, settings.port)
        else:
            socket.create_connection((host, settings.port), _PROBE_TIMEOUT_S).close()
    except (OSError, http.client.HTTPException) as error:
        raise NotReadyError(f"port {settings.port} does not answer: {error}") from error


def _probe_rest(host: str, port: int) -> None:
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=_PROBE_TIMEOUT_S)) as connection:
        connection.request("GET", "/healthz", headers={"Connection": "close"})
        status = connection.getresponse().status
    if status != HTTPStatus.OK:
        raise OSError(f"/healthz answered {status}")


def _probe_grpc(host: str, port: int) -> None:
    import grpc  # noqa: PLC0415 - a process loads only what it runs
    from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: PLC0415

    with grpc.insecure_channel(format_address(host, port)) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
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
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - a process loads only what it runs

    from wirebench_services.application.stores.tables import has_tables, parse_url  # noqa: PLC0415

    try:
        is_ready = has_tables(parse_url(url))
    except DBAPIError as error:
        # libpq's first line names the problem.
        raise NotReadyError(str(error.orig).partition("\n")[0]) from None
    if not is_ready:
        raise NotReadyError("the database has no wirebench tables; run: wirebench-store migrate")
