"""Addresses to listen on: the one place that resolves, binds and prints them, IPv4 and IPv6 alike."""

from __future__ import annotations

import socket

#: Clients that may wait to be accepted: all transports queue as many.
BACKLOG = 2048
#: How much the kernel may hold that it hasn't sent yet. Its own limit grows to megabytes, and when that is reached, a
#: third has to be read before a socket can be written to: a client that reads slowly looks like one that doesn't.
_UNSENT_BYTES_MAX = 128 * 1024


def bind(host: str, port: int, *, shared: bool) -> socket.socket:
    """Return a TCP socket that is bound, but doesn't listen; port 0 takes a free one. Raises OSError.

    With `shared` other processes of the same user may bind the port too, if they say so as well: the kernel
    spreads connections over those that listen. `::` takes IPv4 clients in as well.
    """
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        limit_unsent(bound)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


def limit_unsent(listener: socket.socket) -> None:
    """Have the kernel hold little of what clients are sent, on all sockets that the listener will accept."""
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES_MAX)


def numeric(bound: socket.socket) -> tuple[str, int]:
    """Return the host, as a number, and the port that a socket is bound to."""
    host, port = socket.getnameinfo(bound.getsockname(), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
    return host, int(port)


def text(host: str, port: int) -> str:
    """Return `host:port`, with an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
