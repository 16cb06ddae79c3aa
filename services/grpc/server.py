"""What both runtimes' servers are made of: services and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
from grpc_health.v1 import health

from services.grpc import echo, ledger, reflection, users
from services.operations import STREAMS, Operation
from services.platform import addresses
from services.platform.limits import CONNECTIONS_MAX
from services.platform.settings import Settings

SERVICES = (users.SERVICE, ledger.SERVICE, echo.SERVICE)
#: What health checks can ask for.
SERVICE_NAMES = tuple(service.name for service in SERVICES)

_PING_INTERVAL_LEAST_MS = 10_000

RpcHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class _UnknownMethods(grpc.GenericRpcHandler):
    """Comes last, and takes every call that no other handler knows."""

    def __init__(self, refusal: Callable[[str], RpcHandler]) -> None:
        self._refusal = refusal

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> RpcHandler:
        """Return the handler that refuses the method."""
        return self._refusal(handler_call_details.method)


def add_services(
    server: Any,  # noqa: ANN401 - grpc.Server or grpc.aio.Server: they share no type
    handler: Callable[[Operation], RpcHandler],
    stream_handler: Callable[[Operation], RpcHandler],
    refusal: Callable[[str], RpcHandler],
) -> None:
    """Register the application's methods, reflection, and the refusal of unknown methods.

    To be called after all else is registered: the refusal takes what is left. Handlers have no
    (de)serializers: they take and give bytes.
    """
    for service in SERVICES:
        handlers = {
            method: (stream_handler if operation.name in STREAMS else handler)(operation)
            for method, operation in service.operations().items()
        }
        server.add_registered_method_handlers(service.name, handlers)
    reflection.add_to(server, (*SERVICE_NAMES, health.SERVICE_NAME))
    server.add_generic_rpc_handlers((_UnknownMethods(refusal),))


def listen(server: Any, settings: Settings) -> None:  # noqa: ANN401 - as above
    """Give the server its port. With TLS, grpcio itself offers no less than TLS 1.2, and h2 by ALPN."""
    address = addresses.text(settings.host, settings.port)
    if settings.tls is None:
        server.add_insecure_port(address)
    else:
        authorities = settings.tls.client_authorities
        credentials = grpc.ssl_server_credentials(
            [(settings.tls.key, settings.tls.chain)], authorities, require_client_auth=authorities is not None
        )
        server.add_secure_port(address, credentials)


def options(settings: Settings) -> list[tuple[str, int]]:
    """Return the channel arguments that carry out the settings."""
    read_timeout_ms = int(settings.read_timeout_s * 1000)
    return [
        ("grpc.so_reuseport", 1),
        ("grpc.max_receive_message_length", settings.body_bytes_max),
        ("grpc.max_send_message_length", -1),
        # Calls that wait for their turn: of itself, gRPC cancels them at random where they are more than 1,000.
        ("grpc.server.max_pending_requests", CONNECTIONS_MAX),
        ("grpc.server.max_pending_requests_hard_limit", CONNECTIONS_MAX),
        # A client that connects and says nothing.
        ("grpc.server_handshake_timeout_ms", read_timeout_ms),
        ("grpc.max_connection_idle_ms", int(settings.idle_timeout_s * 1000)),
        # A client that is gone without a word, maybe half-way through a request: without pings its call would
        # hold a thread for good.
        ("grpc.keepalive_time_ms", read_timeout_ms),
        ("grpc.keepalive_timeout_ms", read_timeout_ms),
        ("grpc.http2.ping_timeout_ms", read_timeout_ms),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", _PING_INTERVAL_LEAST_MS),
        *_age_limit(settings),
    ]


def _age_limit(settings: Settings) -> list[tuple[str, int]]:
    """Let connections grow only so old: their clients are told in time, and no call is lost.

    A server that stops cancels the calls that arrive in the moment before their clients know. Where connections are
    younger than the pause before that is long, clients that can have gone to others by then.
    """
    if not settings.max_connection_age_s:
        return []
    return [("grpc.max_connection_age_ms", int(settings.max_connection_age_s * 1000))]
