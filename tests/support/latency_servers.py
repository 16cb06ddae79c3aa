"""Servers of the contract whose latency is known: they wait as long as they are told, and answer a constant."""

from __future__ import annotations

import asyncio
import json
import struct
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import ledger_pb2, users_pb2

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


@dataclass(frozen=True)
class Pacing:
    """When the items of a stream come: the first so long after the request, and each other one after the gap.

    Every `stalls_every`-th item comes so much later, and those after it at their own moments, as if it hadn't.
    """

    first_s: float
    gap_s: float
    stalls_every: int = 0
    stall_s: float = 0.0

    def due_s(self, item: int) -> float:
        """Return when an item is sent, counted from 0, in seconds since the request."""
        stalls = self.stalls_every and item % self.stalls_every == self.stalls_every - 1
        return self.first_s + item * self.gap_s + (self.stall_s if stalls else 0.0)


async def _paced(pacing: Pacing, items: int) -> AsyncIterator[int]:
    """Yield the ids of the items when they are due."""
    start = time.monotonic()
    for item in range(items):
        await asyncio.sleep(max(0.0, start + pacing.due_s(item) - time.monotonic()))
        yield item + 1


def _transaction(number: int) -> dict[str, Any]:
    return {"id": number, "time": 1_767_225_600, "reference": f"TX{number}", "description": "x" * 100}


async def _stream_rest(pacing: Pacing) -> tuple[int, Any]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(text: str) -> None:
            writer.write(f"{len(text):x}\r\n{text}\r\n".encode())

        with closing(writer):
            while request := await _read_until(reader, b"\r\n\r\n"):
                writer.write(head)
                async for number in _paced(pacing, _limit_in(request)):
                    send(f"id: {number}\ndata: {json.dumps(_transaction(number))}\n\n")
                send("event: end\ndata: {}\n\n")
                writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(handle, HOST, 0)
    return server.sockets[0].getsockname()[1], server


async def _stream_socket(pacing: Pacing) -> tuple[int, Any]:
    more = 1

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(request_id: int, flags: int, body: bytes) -> None:
            writer.write(struct.pack(">IIBBH", 8 + len(body), request_id, 0, flags, 0) + body)

        with closing(writer):
            await _read_exactly(reader, 4)
            while head := await _read_exactly(reader, 8):
                length, request_id = struct.unpack(">II", head)
                request = await reader.readexactly(length - 4)
                items = json.loads(request[1 + request[0] :])["limit"]
                async for number in _paced(pacing, items):
                    send(request_id, more, json.dumps(_transaction(number)).encode())
                send(request_id, 0, b"")

    server = await asyncio.start_server(handle, HOST, 0)
    return server.sockets[0].getsockname()[1], server


async def _stream_grpc(pacing: Pacing) -> tuple[int, Any]:
    async def stream(request: bytes, _context: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - grpcio's own type
        items = ledger_pb2.StreamTransactionsRequest.FromString(request).limit
        async for number in _paced(pacing, items):
            data = ledger_pb2.Transaction(**_transaction(number))
            yield ledger_pb2.StreamTransactionsResponse(data=data).SerializeToString()

    handler: Any = grpc.unary_stream_rpc_method_handler(stream)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("wirebench.v1.LedgerService", {"StreamTransactions": handler}),)
    )
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    return port, server


def _limit_in(request: bytes) -> int:
    """Return the limit that the query of a request's first line asks for."""
    query = urlsplit(request.split(b" ", 2)[1].decode()).query
    return int(parse_qs(query)["limit"][0])


_STREAM: dict[str, Callable[[Pacing], Awaitable[tuple[int, Any]]]] = {
    "rest": _stream_rest,
    "grpc": _stream_grpc,
    "socket": _stream_socket,
}

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
    with _running(lambda: _SERVE[transport](Pace(delay_s))) as address:
        yield address


@contextmanager
def stream_server(transport: str, pacing: Pacing) -> Iterator[str]:
    """Run a server of streams whose items come at known moments in a thread, and yield its address."""
    with _running(lambda: _STREAM[transport](pacing)) as address:
        yield address


@contextmanager
def _running(serve: Callable[[], Awaitable[tuple[int, Any]]]) -> Iterator[str]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[int, Any]:
        return await serve()

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
