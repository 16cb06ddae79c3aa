"""Addresses, the TCP connections to them, and what is said when those fail."""

from __future__ import annotations

import re
import socket
from typing import NamedTuple

from wirebench.clients.client import ClientError

_HOST_AND_PORT = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/@\[\]]+)):(?P<port>\d{1,5})")
_PORT_MAX = 65_535


class Address(NamedTuple):
    """Where a service listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, with an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, url: bool = False) -> Address:
    """Read `host:port`, and with `url` also `http://host:port`; IPv6 hosts in brackets. Raises ClientError."""
    bare = text.removeprefix("http://").removesuffix("/") if url else text
    match = _HOST_AND_PORT.fullmatch(bare)
    if match is None or not 0 < int(match["port"]) <= _PORT_MAX:
        raise ClientError(f"{text!r} is not an address", "write HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000")
    return Address(match["ipv6"] or match["host"], int(match["port"]))


def dial(address: Address, timeout_s: float) -> socket.socket:
    """Connect; the time-out stays on the socket. Raises ClientError."""
    try:
        connection = socket.create_connection(address, timeout_s)
    except OSError as error:
        raise failure(error, address, timeout_s) from error
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def failure(error: OSError, address: Address, timeout_s: float) -> ClientError:
    """Say what went wrong with a connection."""
    if isinstance(error, ConnectionRefusedError):
        return ClientError(f"nothing listens at {address}", "start the service, or correct the address")
    if isinstance(error, socket.gaierror | UnicodeError):
        return ClientError(f"unknown host {address.host!r}", "correct the address")
    if isinstance(error, TimeoutError):
        return ClientError(
            f"{address} did not answer within {timeout_s:g} s",
            "check the port, see whether the service is overloaded, or allow more time",
        )
    if isinstance(error, ConnectionError):
        return hang_up(address)
    return ClientError(f"can't reach {address}: {error.strerror or error}", "check the address and the network")


def hang_up(address: Address) -> ClientError:
    """Say that the connection ended before the reply did."""
    return ClientError(f"{address} hung up before its reply was complete", "see what the service's log says")


def not_spoken(address: Address, protocol: str, received: bytes) -> ClientError:
    """Say that something else listens there, and what it sent."""
    return ClientError(
        f"what listens at {address} does not speak {protocol}: it sent {received[:24]!r}",
        "check the port: rest, grpc and socket have one each",
    )
