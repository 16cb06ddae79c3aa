"""The bare frameworks that the services are measured against: each answers a constant, and does nothing else.

python -m benchmarks.bare RUNTIME PORT
"""

from __future__ import annotations

import asyncio
import json
import socketserver
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from wirebench.system.paths import TOOLS

HOST = "127.0.0.1"
USER = {"id": 1_000_001, "name": "User 1000001", "email": "user1000001@example.com"}
ENVELOPE = {"success": True, "data": USER, "message": "User retrieved successfully"}
METHOD = "GetUser"


def flask() -> Any:  # noqa: ANN401 - a WSGI application
    """Return the bare Flask application: gunicorn calls this."""
    from flask import Flask, Response  # noqa: PLC0415

    app = Flask(__name__)
    body = json.dumps(ENVELOPE)

    @app.get("/api/users/<user_id>")
    def get(user_id: str) -> Response:  # noqa: ARG001 - a constant
        return Response(body, content_type="application/json")

    return app


def starlette() -> Any:  # noqa: ANN401 - an ASGI application
    """Return the bare Starlette application: uvicorn calls this."""
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    body = json.dumps(ENVELOPE)

    async def get(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return Starlette(routes=[Route("/api/users/{user_id}", get)])


def make_command(runtime: str, port: int) -> list[str]:
    """Return the command line of a bare server, with the settings of the service's."""
    binaries = Path(sys.executable).parent
    address = f"{HOST}:{port}"
    match runtime:
        case "gunicorn-gthread":
            flags = ["--bind", address, "--worker-class", "gthread", "--threads", "8", "--keep-alive", "75"]
            return [str(binaries / "gunicorn"), *flags, "benchmarks.bare:flask()"]
        case "uvicorn":
            own = ["--http", "httptools", "--no-access-log"]
            flags = ["--factory", "--host", HOST, "--port", str(port), "--loop", "uvloop", "--log-level", "warning"]
            return [str(binaries / runtime), *flags, *own, "benchmarks.bare:starlette"]
        case "net-http" | "grpc-go" | "goroutines":
            return [str(TOOLS / "bare-go"), runtime, str(port)]
        case _:
            return [sys.executable, "-m", "benchmarks.bare", runtime, str(port)]


def _reply() -> bytes:
    from wirebench_proto import users_pb2  # noqa: PLC0415

    data = users_pb2.User(**USER)  # type: ignore[arg-type]
    return users_pb2.GetUserResponse(success=True, message=str(ENVELOPE["message"]), data=data).SerializeToString()


def grpc_sync(port: int) -> None:
    """Run grpcio's thread pool, as large as the service's."""
    import grpc  # noqa: PLC0415

    reply = _reply()
    handler: Any = grpc.unary_unary_rpc_method_handler(lambda _request, _context: reply)
    server = grpc.server(ThreadPoolExecutor(10))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("wirebench.v1.UserService", {METHOD: handler}),)
    )
    server.add_insecure_port(f"{HOST}:{port}")
    server.start()
    server.wait_for_termination()


def grpc_aio(port: int) -> None:
    """Run grpcio on asyncio."""
    import grpc  # noqa: PLC0415
    import uvloop  # noqa: PLC0415

    reply = _reply()

    async def get(_request: bytes, _context: Any) -> bytes:  # noqa: ANN401 - grpcio's own type
        return reply

    async def serve() -> None:
        handler: Any = grpc.unary_unary_rpc_method_handler(get)
        server = grpc.aio.server()
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("wirebench.v1.UserService", {METHOD: handler}),)
        )
        server.add_insecure_port(f"{HOST}:{port}")
        await server.start()
        await server.wait_for_termination()

    uvloop.run(serve())


#: A reply frame (proto/socket.md) around the id of its request: its length before, and status, flags and body after.
_BODY = b"\0\0\0\0" + json.dumps(USER).encode()
_LENGTH = (4 + len(_BODY)).to_bytes(4, "big")


def _answer(request: bytes) -> bytes:
    return _LENGTH + request[4:8] + _BODY


class _Constant(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._opened = False

    def data_received(self, data: bytes) -> None:
        if not self._opened:
            self._opened, data = True, data[4:]  # the preface
        if data:
            self._transport.write(_answer(data))


def socket_asyncio(port: int) -> None:
    """Answer each frame on uvloop."""
    import uvloop  # noqa: PLC0415

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Constant, HOST, port)
        await server.serve_forever()

    uvloop.run(serve())


class _ThreadedConstant(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(4)  # the preface
        while data := self.request.recv(65_536):
            self.request.sendall(_answer(data))


class _ThreadedServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128


def socket_threaded(port: int) -> None:
    """Answer each frame in a thread for each connection."""
    with _ThreadedServer((HOST, port), _ThreadedConstant) as server:
        server.serve_forever()


RUNTIMES: dict[str, Callable[[int], None]] = {
    "sync": grpc_sync,
    "aio": grpc_aio,
    "asyncio": socket_asyncio,
    "threaded": socket_threaded,
}

if __name__ == "__main__":
    RUNTIMES[sys.argv[1]](int(sys.argv[2]))
