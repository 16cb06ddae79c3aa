"""What holds for every request, whatever it asks for: who may ask, how, and what a browser may do with the answer."""

from __future__ import annotations

import sys
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wirebench.web.hosts import Hosts
from wirebench.web.problems import HttpError, answer, as_problem

METHODS = ("GET", "HEAD")
TARGET_BYTES_MAX = 8192

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


class Guard:
    """Refuses what nobody should ask, adds the headers, and answers where the application itself has failed."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
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
            problem = as_problem(error)
            if not isinstance(error, HttpError):
                sys.stderr.write(f"error: {scope['method']} {scope['path']!r}: {type(error).__name__}: {error}\n")
            if started:
                raise
            await answer(scope["path"], problem)(scope, receive, guarded_send)

    def _check(self, scope: Scope) -> None:
        named = Headers(scope=scope).getlist("host")
        if len(named) != 1 or not self._hosts.allow(named[0]):
            raise HttpError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this server doesn't answer to the host that the request names",
                "ask for it as localhost, or start it with --allowed-host NAME",
            )
        if scope["method"] not in METHODS:
            allow = {"allow": ", ".join(METHODS)}
            hint = "results can be read here, not changed"
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered", hint, headers=allow)
        if len(scope["raw_path"]) + len(scope["query_string"]) > TARGET_BYTES_MAX:
            hint = "ask for less at a time"
            raise HttpError(HTTPStatus.BAD_REQUEST, f"an address may have {TARGET_BYTES_MAX:,} bytes", hint)
