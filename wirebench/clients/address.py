"""Addresses, and the TCP connections to them: where most failures of a client begin."""

from __future__ import annotations

import select
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from wirebench.clients.client import ClientError


class Address(NamedTuple):
    """Where a service listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, with an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, scheme: str | None = None) -> Address:
    """Read `host:port`, or a URL of the scheme if there is one. Raises ClientError."""
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    plain = parts_are_plain = False
    if host and port:
        parts_are_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
        plain = parts.scheme in ("", scheme) and " " not in text
    if not (host and port and plain and parts_are_plain):
        example = f"{scheme}://127.0.0.1:5000 or 127.0.0.1:5000" if scheme else "127.0.0.1:9000 or [::1]:9000"
        raise ClientError(f"{text!r} is not an address", f"write it as {example}")
    return Address(host, port)
