"""Whom a request may be addressed to.

A page of a foreign site can make a browser ask a server on loopback: its name only has to lead there (DNS rebinding).
What it can't do is name another host in the request than its own, so that a list of our own names keeps it out.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)]|(?P<name>[^:\[\]]+))(?::[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that a server answers to, whatever the port: it may be forwarded from another."""

    names: frozenset[str] = LOOPBACK_NAMES
    #: Of a server that listens on all addresses. No foreign page comes from a numeric address that is ours.
    any_address: bool = False

    @classmethod
    def of(cls, host: str, address: str, allowed: Iterable[str] = ()) -> Hosts:
        """Return the names of a server that is to listen on this host, known by these names besides.

        `address` is the numeric one that it does listen on: `0` stands for all addresses as well.
        """
        names = LOOPBACK_NAMES | {_plain(name) for name in (host, address, *allowed)}
        return cls(names, any_address=ipaddress.ip_address(address).is_unspecified)

    def allow(self, header: str) -> bool:
        """Whether a `Host` header names one of ours."""
        matched = _HOST.fullmatch(header)
        if matched is None:
            return False
        name = _plain(matched["v6"] or matched["name"])
        return name in self.names or (self.any_address and _is_address(name))


def _plain(name: str) -> str:
    return name.lower().removesuffix(".").removeprefix("[").removesuffix("]")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
