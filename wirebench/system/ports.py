"""Free ports on loopback, and waiting until a server that was just started answers on one."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from wirebench.system.http import fetch
from wirebench.system.processes import Child
from wirebench.system.tls import ClientTls

LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 60.0
_ATTEMPT_TIMEOUT_S = 5.0
_POLL_S = 0.02
#: grpc.health.v1.HealthCheckResponse with the status SERVING.
_SERVING = b"\x08\x01"


@contextlib.contextmanager
def reserve_ports(count: int) -> Iterator[list[int]]:
    """Yield ports that are free, distinct because all are held until the end."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        yield [each.getsockname()[1] for each in sockets]


def wait_ready(child: Child, is_ready: Callable[[], bool], timeout_s: float = _TIMEOUT_S) -> None:
    """Return when the process is ready. Raises ProcessError if it ends, or takes too long."""
    deadline = time.monotonic() + timeout_s
    while True:
        child.check_alive()
        if is_ready():
            return
        if time.monotonic() > deadline:
            raise child.make_error(f"was not ready after {timeout_s:g} s")
        time.sleep(_POLL_S)


def answers_http(address: str, path: str, tls: ClientTls | None = None) -> bool:
    """Return whether a GET of this path is answered with a status that says success; `address` is host:port."""
    try:
        reply = fetch(f"{'https' if tls else 'http'}://{address}{path}", timeout_s=_ATTEMPT_TIMEOUT_S, tls=tls)
    except OSError:
        return False
    return reply.status // 100 == 2  # noqa: PLR2004 - 2xx


def accepts_connections(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_ATTEMPT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def is_serving(address: str, tls: ClientTls | None = None) -> bool:
    """Return whether gRPC's health service says that the server serves."""
    import grpc

    options = [("grpc.enable_http_proxy", 0)]  # as drivers connect
    channel = grpc.insecure_channel(address, options)
    if tls:
        # Without an authority grpc would take one of the lists that come with it, and not the system's.
        authority = tls.authority or ssl.get_default_verify_paths().cafile
        credentials = grpc.ssl_channel_credentials(Path(authority).read_bytes() if authority else None)
        channel = grpc.secure_channel(address, credentials, options)
    with channel:
        try:
            # Without serializers a method takes and gives bytes; an empty request asks about the whole server.
            check: Callable[..., bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
            return check(b"", timeout=_ATTEMPT_TIMEOUT_S) == _SERVING
        except grpc.RpcError:
            return False
