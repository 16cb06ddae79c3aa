"""The REST service on Starlette: uvicorn --factory wirebench_services.rest.starlette_app:create_app."""

import contextlib
import functools
import inspect
import time
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wirebench_services import metrics
from wirebench_services.application.errors import OperationError
from wirebench_services.application.ledger import StreamQuery, stream_transactions_async
from wirebench_services.application.stores import open_async_store
from wirebench_services.operations import OPERATIONS
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings


def create_app() -> Starlette:
    """Create the ASGI application of a worker; the settings are environment variables."""
    settings = read_settings(RestSettings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with open_async_store(settings) as store:
            metrics.WORKERS.set(1)
            yield {"store": store}  # as `request.state.store`

    return Starlette(
        routes=make_routes(settings.body_bytes_max),
        lifespan=lifespan,
        middleware=[Middleware(MetricsMiddleware)],
        exception_handlers={OperationError: answer_operation_error, HTTPException: answer_http_error},
    )


def make_routes(limit: int) -> list[Route]:
    """Return the routes, named after their operations (operations.py); those that read bodies limit them."""
    body = functools.partial(Route, endpoint=answer_body, max_body_size=limit)
    return [
        Route("/api/users/{id}", answer_query, name="users.get"),
        body("/api/users/{id}", methods=["PUT"], name="users.update"),
        Route("/api/users/{id}", answer_query, methods=["DELETE"], name="users.delete"),
        Route("/api/users", answer_query, name="users.list"),
        body("/api/users", methods=["POST"], name="users.create"),
        body("/api/users/batch", methods=["POST"], name="users.create_batch"),
        Route("/accounts/{account_id}/balance", answer_query, name="ledger.get_balance"),
        Route("/transactions/stream", stream, name="ledger.stream_transactions"),
        body("/echo", methods=["POST"], name="echo.echo"),
        body("/upper", methods=["POST"], name="echo.upper"),
        Route("/healthz", PlainTextResponse("ok\n")),
    ]


async def answer_query(request: Request) -> Response:
    return await answer(request, read_query(request))


async def answer_body(request: Request) -> Response:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "The client left before the end of the body.") from None
    fields = bodies.parse_body(request["route"].name, request.headers, body, request.path_params)
    return await answer(request, fields)


async def stream(request: Request) -> Response:
    query = OPERATIONS["ledger.stream_transactions"].handle(None, read_query(request))
    return StreamingResponse(generate_events(request, query), headers=bodies.EVENT_HEADERS)


def read_query(request: Request) -> dict[str, int]:
    # Parsing costs time, and most requests have no query.
    path = request.path_params
    return bodies.parse_integers({**request.query_params, **path} if request["query_string"] else path)


async def answer(request: Request, fields: Mapping[str, Any]) -> Response:
    name = request["route"].name
    value = OPERATIONS[name].handle(request.state.store, fields)
    if inspect.iscoroutine(value):
        value = await value
    body, media_type = bodies.encode_success(name, value, request.headers)
    return Response(body, bodies.SUCCESSES.get(name, HTTPStatus.OK), media_type=media_type)


async def generate_events(request: Request, query: StreamQuery) -> AsyncIterator[bytes]:
    """Yield the events of a stream; none for HEAD."""
    request.state.code = "cancelled"  # unless it reaches its end
    try:
        if request.method != "HEAD":
            async for batch in stream_transactions_async(request.state.store, query):
                yield bodies.encode_events(batch)
        yield bodies.END_EVENT
        request.state.code = "ok"
    except OperationError as error:
        request.state.code = error.code
        yield bodies.encode_error_event(error)


async def answer_operation_error(request: Request, error: Any) -> Response:  # noqa: ANN401 - an OperationError
    body, media_type = bodies.encode_failure(error.message, request.headers)
    return Response(body, bodies.STATUSES[error.code], media_type=media_type)


async def answer_http_error(request: Request, error: Any) -> Response:  # noqa: ANN401 - an HTTPException
    """Reply to requests that Starlette rejects."""
    body, media_type = bodies.encode_failure(error.detail, request.headers)
    return Response(body, error.status_code, error.headers, media_type)


class MetricsMiddleware:
    """Counts each request when its reply has been sent, or its client has left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/healthz":
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
            is_operation = "route" in scope and status != HTTPStatus.METHOD_NOT_ALLOWED
            operation = scope["route"].name if is_operation else metrics.UNKNOWN
            code = scope["state"].get("code") or bodies.CODES.get(status, "invalid_argument")
            metrics.count_request("rest", operation, code, time.perf_counter() - started_s)
