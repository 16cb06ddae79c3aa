"""The REST service on Starlette: uvicorn --factory wirebench_services.rest.starlette_app:create_app."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wirebench_services import metrics
from wirebench_services.application import ledger
from wirebench_services.application.errors import INTERNAL_MESSAGE, OperationError
from wirebench_services.application.operations import HANDLERS, resolve
from wirebench_services.application.stores import open_async_store
from wirebench_services.contract import BODY_BYTES_MAX, CODES, OPERATIONS, STREAM, Operation
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings


def create_app() -> Starlette:
    """Create the ASGI application of a worker; the settings are environment variables."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        store = open_async_store(read_settings(RestSettings))
        metrics.WORKERS.set(1)
        yield {"store": store}  # as `request.state.store`
        await resolve(store.close())

    return Starlette(
        routes=list(map(make_route, OPERATIONS.values())),
        lifespan=lifespan,
        middleware=[Middleware(MetricsMiddleware)],
        exception_handlers=dict.fromkeys((OperationError, HTTPException, Exception), answer_error),
    )


def make_route(operation: Operation) -> Route:
    """Return the route of an operation, named after it; those that read bodies limit them."""
    endpoint = stream_transactions if operation.name == STREAM else answer
    limit = BODY_BYTES_MAX if bodies.has_body(operation) else None
    return Route(operation.path, endpoint, methods=[operation.method], name=operation.name, max_body_size=limit)


async def answer(request: Request) -> Response:
    """Carry out the operation of the route."""
    operation = OPERATIONS[request["route"].name]
    fields = await read_body(operation, request) if bodies.has_body(operation) else read_query(request)
    value = await resolve(HANDLERS[operation.name](request.state.store, fields))
    body, media_type = bodies.encode_success(operation, value, request.headers)
    return Response(body, operation.status, media_type=media_type)


async def stream_transactions(request: Request) -> Response:
    events = generate_events(request, ledger.parse_stream(read_query(request)))
    return StreamingResponse(events, headers=bodies.EVENT_HEADERS)


def read_query(request: Request) -> dict[str, Any]:
    # Parsing costs time, and most requests have no query. Of several values, the first counts, as elsewhere.
    query = dict(reversed(request.query_params.multi_items())) if request["query_string"] else {}
    return bodies.add_path(bodies.parse_integers(query), request.path_params)


async def read_body(operation: Operation, request: Request) -> dict[str, Any]:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "The client left before the end of the body.") from None
    return bodies.parse_body(operation, request.headers, body, request.path_params)


async def generate_events(request: Request, query: ledger.StreamQuery) -> AsyncIterator[bytes]:
    """Yield the events of a stream."""
    request.state.code = "cancelled"  # unless it reaches its end
    try:
        async for batch in ledger.stream_transactions_async(request.state.store, query):
            yield bodies.encode_events(batch)
        yield bodies.END_EVENT
        request.state.code = "ok"
    except Exception as error:  # noqa: BLE001 - every error is described, and an unexpected one is logged
        event, request.state.code = bodies.encode_error_event(error)
        yield event


async def answer_error(request: Request, error: Exception) -> Response:
    """Reply to a request that is rejected, or that fails unexpectedly: uvicorn logs why."""
    status, message, headers = int(HTTPStatus.INTERNAL_SERVER_ERROR), INTERNAL_MESSAGE, None
    if isinstance(error, OperationError):
        status, message = bodies.STATUSES[error.code], error.message
    elif isinstance(error, HTTPException):
        status, message, headers = error.status_code, error.detail, error.headers
    body, media_type = bodies.encode_failure(message, request.headers)
    return Response(body, status, headers, media_type)


class MetricsMiddleware:
    """Counts each request of an operation when its reply has been sent, or its client has left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started_s = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR  # unless there is a reply

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            if "route" in scope and status != HTTPStatus.METHOD_NOT_ALLOWED:
                code = scope["state"].get("code") or CODES.get(status, "invalid_argument")
                metrics.count_request("rest", scope["route"].name, code, time.perf_counter() - started_s)
