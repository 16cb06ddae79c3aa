"""A service with one operation, echo.reverse, on all transports: what tests/contract/test_new_operation.py adds.

It writes its addresses to the file that is its argument.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
from pathlib import Path
from typing import Any

import grpc
import uvicorn
from grpc_reflection.v1alpha import reflection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from wirebench_proto import echo_pb2, echo_pb2_grpc

HOST = "127.0.0.1"


async def reverse_rest(request: Request) -> JSONResponse:
    """Answer a REST request."""
    text = (await request.json())["text"]
    return JSONResponse({"success": True, "data": {"text": text[::-1]}, "message": "Text reversed"})


class Echo(echo_pb2_grpc.EchoServiceServicer):
    """Answers gRPC calls."""

    async def Reverse(self, request: echo_pb2.UpperRequest, _: Any) -> echo_pb2.UpperResponse:  # noqa: ANN401, N802
        """Answer a call."""
        return echo_pb2.UpperResponse(
            success=True, message="Text reversed", data=echo_pb2.Text(text=request.text[::-1])
        )


async def reverse_socket(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the JSON frames of a connection."""
    await reader.readexactly(4)
    while head := await reader.read(4):
        frame = await reader.readexactly(struct.unpack(">I", head)[0])
        request_id, name_length = struct.unpack(">IB", frame[:5])
        assert frame[5 : 5 + name_length] == b"echo.reverse"
        body = json.dumps({"text": json.loads(frame[5 + name_length :])["text"][::-1]}).encode()
        writer.write(struct.pack(">IIBBH", 8 + len(body), request_id, 0, 0, 0) + body)


async def serve(file: Path) -> None:
    """Serve on all transports until killed."""
    rpc = grpc.aio.server()
    echo_pb2_grpc.add_EchoServiceServicer_to_server(Echo(), rpc)  # type: ignore[abstract]  # of the project as it is
    reflection.enable_server_reflection(("wirebench.v1.EchoService",), rpc)
    rpc_port = rpc.add_insecure_port(f"{HOST}:0")
    await rpc.start()
    socket = await asyncio.start_server(reverse_socket, HOST, 0)
    routes = [Route("/reverse", reverse_rest, methods=["POST"])]
    rest = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host=HOST, port=0, log_level="error"))
    serving = asyncio.create_task(rest.serve())
    while not rest.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    ports = {
        "rest": rest.servers[0].sockets[0].getsockname()[1],
        "grpc": rpc_port,
        "socket": socket.sockets[0].getsockname()[1],
    }
    unfinished = file.with_suffix(".new")
    unfinished.write_text(json.dumps({transport: f"{HOST}:{port}" for transport, port in ports.items()}))
    unfinished.rename(file)
    await serving


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
