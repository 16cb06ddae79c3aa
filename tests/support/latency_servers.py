"""Servers of the contract whose latency is known, and of streams whose items come when they are told to."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
from wirebench_proto import ledger_pb2

from tests.support.waiting import TIMEOUT_S
from wirebench.measure.truth import run_server
from wirebench.model.contract import Transport

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Pacing:
    """When the items of a stream come: the first so long after the request, and each other one after the gap."""

    first_s: float
    gap_s: float

    def due_s(self, item: int) -> float:
        """Return when an item is sent, counted from 0, in seconds since the request."""
        return self.first_s + item * self.gap_s


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
            while request := await _read(reader.readuntil(b"\r\n\r\n")):
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
            await _read(reader.readexactly(4))
            while head := await _read(reader.readexactly(8)):
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


_STREAM: dict[str, Callable[[Pacing], Coroutine[Any, Any, tuple[int, Any]]]] = {
    "rest": _stream_rest,
    "grpc": _stream_grpc,
    "socket": _stream_socket,
}


async def _read(reading: Awaitable[bytes]) -> bytes:
    """Return what comes; nothing once the client has gone."""
    try:
        return await reading
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@contextmanager
def truth_server(transport: Transport, folder: Path, *flags: str) -> Iterator[str]:
    """Run the server of accuracy/truth with these flags, and yield its address."""
    with run_server(transport, flags, frozenset(os.sched_getaffinity(0)), folder / "truth.log") as (port, _):
        yield f"{HOST}:{port}"


@contextmanager
def stream_server(transport: str, pacing: Pacing) -> Iterator[str]:
    """Run a server of streams whose items come at known moments in a thread, and yield its address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

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

    port, running = asyncio.run_coroutine_threadsafe(_STREAM[transport](pacing), loop).result(TIMEOUT_S)
    try:
        yield f"{HOST}:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(running), loop).result(TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_S)
        loop.close()
