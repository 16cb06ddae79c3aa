"""Addresses, as users write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from wirebench.errors import UsageError

_HOST_AND_PORT = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/@\[\]]+)):(?P<port>\d{1,5})")
_PORT_MAX = 65_535


class Address(NamedTuple):
    """Where a service listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `host:port`; IPv6 hosts in brackets. Raises UsageError."""
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None or not 0 < int(match["port"]) <= _PORT_MAX:
        raise UsageError(f"{text!r} is not an address", "write HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000")
    return Address(match["ipv6"] or match["host"], int(match["port"]))
