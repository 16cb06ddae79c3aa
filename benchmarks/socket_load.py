"""A closed load of frames that outruns any server here: it looks at lengths only, and never sleeps.

A server that wakes a sleeping client up pays for that in its own CPU time; with a client that polls all the time, a
slow server and a fast one are measured alike.

    python -m benchmarks.socket_load HOST PORT CONNECTIONS SECONDS     prints the number of replies
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time

REQUEST_BODY = b'{"id":1000001}'
METHOD = b"users.get"
_PAYLOAD = struct.pack(">IB", 1, len(METHOD)) + METHOD + REQUEST_BODY
REQUEST = struct.pack(">I", len(_PAYLOAD)) + _PAYLOAD
_READ_BYTES = 65_536
_POLLS_A_CLOCK = 100


def load(host: str, port: int, connections: int, seconds: float) -> int:
    """Keep one request on the way on each connection until the time is over; return how many replies came."""
    poll = select.epoll()
    sockets: dict[int, socket.socket] = {}
    buffers: dict[int, bytes] = {}
    for _ in range(connections):
        opened = socket.create_connection((host, port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.sendall(b"WB1J" + REQUEST)
        sockets[opened.fileno()], buffers[opened.fileno()] = opened, b""
        poll.register(opened, select.EPOLLIN)
    replies = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(_POLLS_A_CLOCK):
            for number, _ in poll.poll(0):
                data = buffers[number] + sockets[number].recv(_READ_BYTES)
                if len(data) >= 4 and len(data) == 4 + int.from_bytes(data[:4], "big"):  # noqa: PLR2004
                    replies += 1
                    data = b""
                    sockets[number].send(REQUEST)
                buffers[number] = data
    return replies


if __name__ == "__main__":
    host, port, connections, seconds = sys.argv[1:]
    print(load(host, int(port), int(connections), float(seconds)))
