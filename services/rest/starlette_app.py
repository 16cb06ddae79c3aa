"""The routes behind Starlette."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus

from starlette.requests import ClientDisconnect
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from services.operations.stream import batches_in_loop
from services.rest import events
from services.rest.api import ENDPOINTS, FAILURE, Api, Endpoint, EventReply, Reply, Request

log = logging.getLogger(__name__)


def create_app(api: Api) -> Router:
    """Build the ASGI application of a worker.

    A router is the part of Starlette that is of use here. Endpoints are ASGI applications, because
    request and response objects would cost more than all the rest.
    """
    routes = [Route(endpoint.path, _App(api, endpoint)) for endpoint in ENDPOINTS]
    return Router(routes, redirect_slashes=False, default=_App(api, None))


class _App:
    """An endpoint as an ASGI application; without one it refuses."""

    def __init__(self, api: Api, endpoint: Endpoint | None) -> None:
        self._api = api
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            reply = await self._answer(scope, receive)
        except ClientDisconnect:
            return
        except Exception:
            log.exception("a request failed")
            reply = FAILURE
        if isinstance(reply, EventReply):
            await self._send_events(reply, receive, send)
        else:
            await _send(reply, send)

    async def _send_events(self, reply: EventReply, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_disconnected(receive))

        async def client_leaves(duration_s: float) -> bool:
            if duration_s:
                await asyncio.wait((leaving,), timeout=duration_s)
            else:  # sending doesn't wait for a client that reads as fast, and others want their turn
                await asyncio.sleep(0)
            return leaving.done()

        headers = [
            (b"content-type", events.CONTENT_TYPE.encode("latin-1")),
            (b"cache-control", events.CACHE_CONTROL.encode("latin-1")),
        ]
        try:
            await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
            async for items in batches_in_loop(reply.stream, self._api.stopping, client_leaves):
                await send({"type": "http.response.body", "body": b"".join(items), "more_body": True})
            await send({"type": "http.response.body", "body": self._api.last_event(reply)})
        finally:
            leaving.cancel()
            self._api.count(reply)

    async def _answer(self, scope: Scope, receive: Receive) -> Reply | EventReply:
        headers = dict(scope["headers"])
        request = Request(
            scope["method"],
            scope.get("path_params", {}),
            scope["query_string"].decode("latin-1"),
            headers.get(b"content-type", b"").decode("latin-1"),
            headers.get(b"accept", b"").decode("latin-1"),
            await _body(headers, receive, self._api.body_bytes_max),
        )
        if self._endpoint is None:
            return self._api.answer_unknown(request, scope["path"])
        if self._api.asynchronous:
            return await self._api.answer_async(self._endpoint, request)
        return self._api.answer(self._endpoint, request)


async def _body(headers: dict[bytes, bytes], receive: Receive, bytes_max: int) -> bytes:
    """Return the body, or as much of it as shows that it is longer than the limit. Raises ClientDisconnect."""
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return b""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more and size <= bytes_max:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message["body"])
        size += len(message["body"])
        more = message["more_body"]
    return b"".join(pieces)


async def _disconnected(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(reply: Reply, send: Send) -> None:
    headers = [
        (b"content-type", reply.content_type.encode("latin-1")),
        (b"content-length", b"%d" % len(reply.body)),
    ]
    if reply.allow:
        headers.append((b"allow", reply.allow.encode("latin-1")))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
