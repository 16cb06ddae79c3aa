"""The bare frameworks that the services are measured against: each answers a constant, and does nothing else.

python -m benchmarks.bare RUNTIME PORT
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

HOST = "127.0.0.1"
USER = {"id": 1_000_001, "name": "User 1000001", "email": "user1000001@example.com"}
ENVELOPE = {"success": True, "data": USER, "message": "User retrieved successfully"}
METHOD = "GetUser"


def gunicorn_gthread(port: int) -> None:
    """Flask on gunicorn's threads, as many as the service has."""
    from flask import Flask, Response  # noqa: PLC0415
    from gunicorn.app.base import BaseApplication  # noqa: PLC0415

    app = Flask(__name__)
    body = json.dumps(ENVELOPE)

    @app.get("/api/users/<user_id>")
    def get(user_id: str) -> Response:  # noqa: ARG001 - a constant
        return Response(body, content_type="application/json")

    class Application(BaseApplication):
        def load_config(self) -> None:
            options = {"bind": f"{HOST}:{port}", "worker_class": "gthread", "threads": 8, "keepalive": 75}
            for name, value in options.items():
                self.cfg.set(name, value)

        def load(self) -> Any:  # noqa: ANN401 - what gunicorn takes for an application has no short name
            return app

    Application().run()


def uvicorn(port: int) -> None:
    """Starlette on uvicorn."""
    import uvicorn as server  # noqa: PLC0415
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    body = json.dumps(ENVELOPE)

    async def get(_: Request) -> Response:
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route("/api/users/{user_id}", get)])
    server.run(app, host=HOST, port=port, loop="uvloop", http="httptools", access_log=False, log_level="warning")


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


class _Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._opened = False

    def data_received(self, data: bytes) -> None:
        if not self._opened:
            self._opened, data = True, data[4:]  # the preface
        self._transport.write(data)


def socket_asyncio(port: int) -> None:
    """Echo frames on uvloop."""
    import uvloop  # noqa: PLC0415

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Echo, HOST, port)
        await server.serve_forever()

    uvloop.run(serve())


RUNTIMES: dict[str, Callable[[int], None]] = {
    "gunicorn-gthread": gunicorn_gthread,
    "uvicorn": uvicorn,
    "sync": grpc_sync,
    "aio": grpc_aio,
    "asyncio": socket_asyncio,
}

if __name__ == "__main__":
    sys.argv, (runtime, port) = sys.argv[:1], sys.argv[1:]
    RUNTIMES[runtime](int(port))
