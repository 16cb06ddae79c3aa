"""What holds for every request, whatever it asks for: who may ask, how, and what a browser may do with the answer."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wirebench.errors import UsageError
from wirebench.web.problems import HttpError, answer_problem, make_problem

#: A page of a foreign site can make a browser ask a server on loopback: its name only has to lead there (DNS
#: rebinding). What it can't do is name another host in the request than its own: a list of our own names keeps it out.
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)]|(?P<name>[^:\[\]]+))(?::[0-9]{1,5})?", re.IGNORECASE)
_NAME = re.compile(r"[\w.-]+")

#: What an answer doesn't say otherwise itself. Everything comes from here, and no script stands inside a page.
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that a server answers to, whatever the port: it may be forwarded from another."""

    names: frozenset[str] = LOOPBACK_NAMES
    #: Of a server that listens on all addresses. No foreign page comes from a numeric address that is ours.
    any_address: bool = False

    @classmethod
    def of(cls, host: str, address: str, allowed: Iterable[str] = ()) -> Hosts:
        """Return the names of a server that is to listen on this host, known by these names besides.

        `address` is the numeric one that it does listen on: `0` stands for all addresses as well. Raises UsageError.
        """
        for name in allowed:
            if not (_NAME.fullmatch(name) or _is_address(name.strip("[]"))):
                raise UsageError(
                    f"--allowed-host {name}: not the name of a host", "write it without a port: bench.example.com"
                )
        names = LOOPBACK_NAMES | {_normalise_host(name) for name in (host, address, *allowed)}
        return cls(names, any_address=ipaddress.ip_address(address).is_unspecified)

    def allow(self, header: str) -> bool:
        matched = _HOST.fullmatch(header)
        if matched is None:
            return False
        name = _normalise_host(matched["v6"] or matched["name"])
        return name in self.names or (self.any_address and _is_address(name))


def _normalise_host(name: str) -> str:
    return name.lower().removesuffix(".").removeprefix("[").removesuffix("]")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Rejects requests that name a foreign host, adds security headers, and answers when the application fails."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def guarded_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, guarded_send)
        except Exception as error:
            problem = make_problem(error)
            if not isinstance(error, HttpError):
                sys.stderr.write(f"error: {scope['method']} {scope['path']!r}: {type(error).__name__}: {error}\n")
            if started:
                raise
            await answer_problem(scope["path"], problem)(scope, receive, guarded_send)

    def _check(self, scope: Scope) -> None:
        named = Headers(scope=scope).getlist("host")
        if len(named) != 1 or not self._hosts.allow(named[0]):
            raise HttpError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this server doesn't answer to the host that the request names",
                "ask for it as localhost, or start it with --allowed-host NAME",
            )
