"""What the sync and the aio server share: their services, metrics and errors of calls, options and the port."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self, TypeAlias

import grpc
from grpc_health.v1 import health
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2_grpc, ledger_pb2_grpc, users_pb2_grpc

from wirebench_services import format_address, metrics
from wirebench_services.application.errors import describe_error
from wirebench_services.contract import BODY_BYTES_MAX, OPERATIONS, STREAM
from wirebench_services.encoding import Value, to_fields
from wirebench_services.settings import GrpcSettings

# Types that differ between the two servers or between operations.
Context: TypeAlias = Any
Response: TypeAlias = Any
Method: TypeAlias = Callable[..., Any]

SERVICE_NAMES = sorted({f"wirebench.v1.{each.service}" for each in OPERATIONS.values()})
REFLECTED_NAMES = [*SERVICE_NAMES, health.SERVICE_NAME, reflection.SERVICE_NAME]


def add_services(server: Any, answer: Callable[[str], Method], stream: Method) -> None:  # noqa: ANN401 - either server
    """Register the services: `answer` makes the method of an operation, `stream` is that of the stream."""

    def make_servicer(service: str) -> Any:  # noqa: ANN401 - an object with the methods of a servicer
        called = (each for each in OPERATIONS.values() if each.service == service)
        return SimpleNamespace(**{each.rpc: stream if each.name == STREAM else answer(each.name) for each in called})

    users_pb2_grpc.add_UserServiceServicer_to_server(make_servicer("UserService"), server)
    ledger_pb2_grpc.add_LedgerServiceServicer_to_server(make_servicer("LedgerService"), server)
    echo_pb2_grpc.add_EchoServiceServicer_to_server(make_servicer("EchoService"), server)


def make_response(operation: str, value: Value) -> Response:
    called = OPERATIONS[operation]
    return called.response(success=True, message=called.message, data=to_fields(value))


class Call:
    """A context manager that counts a call of an operation, and turns its error into a status."""

    def __init__(self, operation: str, context: Context) -> None:
        self._operation = operation
        self._context = context
        self._started_s = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if status := self._finish(error):
            self._context.abort(*status)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if status := self._finish(error):
            await self._context.abort(*status)

    def _finish(self, error: BaseException | None) -> tuple[grpc.StatusCode, str] | None:
        """Count the call; return the status and the details to abort it with."""
        code, message = "ok", ""
        if isinstance(error, Exception):
            described = describe_error(error, self._operation)
            code, message = described.code, described.message
        elif error is not None:  # CancelledError or GeneratorExit: the client has left
            code = "cancelled"
        metrics.count_request("grpc", self._operation, code, time.perf_counter() - self._started_s)
        return (grpc.StatusCode[code.upper()], message) if message else None


def make_options(settings: GrpcSettings) -> list[tuple[str, int]]:
    """Return the server's options (https://grpc.github.io/grpc/core/group__grpc__arg__keys.html)."""
    options = [
        # Several workers share the port. One that is alone must not share it with another service by accident.
        ("grpc.so_reuseport", int(settings.workers > 1)),
        ("grpc.max_receive_message_length", BODY_BYTES_MAX),
    ]
    if settings.max_connection_age_s:
        # Clients behind a load balancer reconnect, and so reach new replicas.
        options.append(("grpc.max_connection_age_ms", round(settings.max_connection_age_s * 1000)))
    return options


def add_port(server: grpc.Server | grpc.aio.Server, settings: GrpcSettings) -> None:
    """Add the service's port, with TLS if there is a certificate. Raises RuntimeError."""
    address = format_address(settings.host, settings.port)
    if settings.tls_cert is None or settings.tls_key is None:
        server.add_insecure_port(address)
        return
    chain = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
    server.add_secure_port(address, grpc.ssl_server_credentials([chain]))
