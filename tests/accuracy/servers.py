"""Servers of the contract whose latency is known: they wait as long as they are told, and answer a constant."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import users_pb2

HOST = "127.0.0.1"
USER = {"id": 1, "name": "Ann", "email": "ann@example.com"}

#: Says how long to wait, in seconds, before the n-th request (from 0) is answered.
Delay = Callable[[int], float]


class Pace:
    """Waits before each answer; the waiting of a constant number of requests is what a driver must find."""

    def __init__(self, delay_s: Delay) -> None:
        """Take the delay of each request."""
        self._delay_s = delay_s
        self._count = 0

    async def wait(self) -> None:
        """Wait as long as the next request's delay."""
        delay_s = self._delay_s(self._count)
        self._count += 1
        await asyncio.sleep(delay_s)


def stall_after(seconds: float, stall_s: float) -> Delay:
    """Answer at once, but nothing in a stall that begins so long after the first request."""
    started: list[float] = []

    def delay_s(_: int) -> float:
        now = time.monotonic()
        started[:] = started or [now]
        into_stall_s = now - started[0] - seconds
        return stall_s - into_stall_s if 0 <= into_stall_s < stall_s else 0.0

    return delay_s


async def _serve_rest(pace: Pace) -> tuple[int, Any]:
    body = json.dumps({"success": True, "data": USER, "message": ""}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            while request := await _read_until(reader, b"\r\n\r\n"):
                await pace.wait()
                writer.write(head + body)
                if b"\r\nconnection: close\r\n" in request.lower():
                    break

    server = await asyncio.start_server(handle, HOST, 0)
    return server.sockets[0].getsockname()[1], server


async def _serve_socket(pace: Pace) -> tuple[int, Any]:
    body = json.dumps(USER).encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await _read_exactly(reader, 4)
            while head := await _read_exactly(reader, 8):
                length, request_id = struct.unpack(">II", head)
                await reader.readexactly(length - 4)
                await pace.wait()
                writer.write(struct.pack(">IIBBH", 8 + len(body), request_id, 0, 0, 0) + body)

    server = await asyncio.start_server(handle, HOST, 0)
    return server.sockets[0].getsockname()[1], server


async def _serve_grpc(pace: Pace) -> tuple[int, Any]:
    async def get(_request: bytes, _context: Any) -> bytes:  # noqa: ANN401 - grpcio's own type
        await pace.wait()
        return users_pb2.GetUserResponse(success=True, data=users_pb2.User(**USER)).SerializeToString()  # type: ignore[arg-type]

    handler: Any = grpc.unary_unary_rpc_method_handler(get)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("wirebench.v1.UserService", {"GetUser": handler}),)
    )
    # For fortio, which asks what the messages are.
    reflection.enable_server_reflection(("wirebench.v1.UserService",), server)
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    return port, server


_SERVE: dict[str, Callable[[Pace], Awaitable[tuple[int, Any]]]] = {
    "rest": _serve_rest,
    "grpc": _serve_grpc,
    "socket": _serve_socket,
}


async def _read_until(reader: asyncio.StreamReader, end: bytes) -> bytes:
    try:
        return await reader.readuntil(end)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def _read_exactly(reader: asyncio.StreamReader, count: int) -> bytes:
    try:
        return await reader.readexactly(count)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@contextmanager
def server(transport: str, delay_s: Delay) -> Iterator[str]:
    """Run a server of known latency in a thread, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[int, Any]:
        return await _SERVE[transport](Pace(delay_s))

    async def stop(running: Any) -> None:  # noqa: ANN401 - asyncio's or grpcio's server
        if isinstance(running, asyncio.Server):
            running.close()
        else:
            await running.stop(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        # Not before each of them has closed its connection.
        await asyncio.gather(*others, return_exceptions=True)

    port, running = asyncio.run_coroutine_threadsafe(start(), loop).result(timeout=20)
    try:
        yield f"{HOST}:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(running), loop).result(timeout=20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=20)
        loop.close()
