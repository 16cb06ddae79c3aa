"""A closed load of frames that is faster than any server here: it looks at lengths only.

python -m benchmarks.socket_load HOST PORT CONNECTIONS SECONDS     prints the number of replies
"""

from __future__ import annotations

import asyncio
import struct
import sys
from typing import cast

import uvloop

REQUEST_BODY = b'{"id":1000001}'
METHOD = b"users.get"
_PAYLOAD = struct.pack(">IB", 1, len(METHOD)) + METHOD + REQUEST_BODY
REQUEST = struct.pack(">I", len(_PAYLOAD)) + _PAYLOAD


class _Client(asyncio.Protocol):
    replies = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._buffer = b""
        self._transport.write(b"WB1J" + REQUEST)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 4 and len(self._buffer) >= (end := 4 + int.from_bytes(self._buffer[:4], "big")):  # noqa: PLR2004
            self._buffer = self._buffer[end:]
            _Client.replies += 1
            self._transport.write(REQUEST)


async def load(host: str, port: int, connections: int, seconds: float) -> int:
    """Send until the time is over and return how many replies came."""
    loop = asyncio.get_running_loop()
    transports = [(await loop.create_connection(_Client, host, port))[0] for _ in range(connections)]
    await asyncio.sleep(seconds)
    for transport in transports:
        transport.abort()
    return _Client.replies


if __name__ == "__main__":
    host, port, connections, seconds = sys.argv[1:]
    print(uvloop.run(load(host, int(port), int(connections), float(seconds))))
