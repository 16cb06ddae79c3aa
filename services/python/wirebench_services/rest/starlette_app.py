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
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wirebench_services import metrics
from wirebench_services.application import echo, ledger, users
from wirebench_services.application.errors import OperationError
from wirebench_services.application.stores import open_async_store
from wirebench_services.encoding import Value
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings


def create_app() -> Starlette:
    """Create the ASGI application of a worker; the settings are environment variables."""
    settings = read_settings(RestSettings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        store = open_async_store(settings)
        metrics.WORKERS.set(1)
        yield {"store": store}  # as `request.state.store`
        await store.close()

    return Starlette(
        routes=make_routes(settings.body_bytes_max),
        lifespan=lifespan,
        middleware=[Middleware(MetricsMiddleware)],
        exception_handlers={OperationError: answer_operation_error, HTTPException: answer_http_error},
    )


async def list_users(request: Request) -> Response:
    return reply(request, await request.state.store.list_users(*users.parse_page(read_query(request))))


async def create_user(request: Request) -> Response:
    user = users.parse_user(await read_body(request))
    return reply(request, await request.state.store.add_user(user), HTTPStatus.CREATED)


async def create_batch(request: Request) -> Response:
    batch = users.parse_batch(await read_body(request))
    return reply(request, await request.state.store.add_users(batch), HTTPStatus.CREATED)


async def get_user(request: Request) -> Response:
    return reply(request, await request.state.store.get_user(users.parse_id(read_query(request))))


async def update_user(request: Request) -> Response:
    user_id, changes = users.parse_update(await read_body(request))
    return reply(request, await request.state.store.change_user(user_id, changes))


async def delete_user(request: Request) -> Response:
    return reply(request, await request.state.store.remove_user(users.parse_id(read_query(request))))


async def get_balance(request: Request) -> Response:
    return reply(request, await request.state.store.get_balance(ledger.parse_account_id(read_query(request))))


async def stream_transactions(request: Request) -> Response:
    events = generate_events(request, ledger.parse_stream(read_query(request)))
    return StreamingResponse(events, headers=bodies.EVENT_HEADERS)


async def echo_payload(request: Request) -> Response:
    return reply(request, echo.echo(await read_body(request)))


async def upper(request: Request) -> Response:
    return reply(request, echo.upper(await read_body(request)))


def make_routes(limit: int) -> list[Route]:
    """Return the routes, named after their operations; those that read bodies limit them."""
    return [
        Route("/api/users/{id}", get_user, name="users.get"),
        Route("/api/users/{id}", update_user, methods=["PUT"], name="users.update", max_body_size=limit),
        Route("/api/users/{id}", delete_user, methods=["DELETE"], name="users.delete"),
        Route("/api/users", list_users, name="users.list"),
        Route("/api/users", create_user, methods=["POST"], name="users.create", max_body_size=limit),
        Route("/api/users/batch", create_batch, methods=["POST"], name="users.create_batch", max_body_size=limit),
        Route("/accounts/{account_id}/balance", get_balance, name="ledger.get_balance"),
        Route("/transactions/stream", stream_transactions, name="ledger.stream_transactions"),
        Route("/echo", echo_payload, methods=["POST"], name="echo.echo", max_body_size=limit),
        Route("/upper", upper, methods=["POST"], name="echo.upper", max_body_size=limit),
        Route("/healthz", PlainTextResponse("ok\n")),
    ]


def read_query(request: Request) -> dict[str, int]:
    # Parsing costs time, and most requests have no query.
    path = request.path_params
    return bodies.parse_integers({**request.query_params, **path} if request["query_string"] else path)


async def read_body(request: Request) -> dict[str, Any]:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "The client left before the end of the body.") from None
    return bodies.parse_body(request["route"].name, request.headers, body, request.path_params)


def reply(request: Request, value: Value, status: int = HTTPStatus.OK) -> Response:
    body, media_type = bodies.encode_success(request["route"].name, value, request.headers)
    return Response(body, status, media_type=media_type)


async def generate_events(request: Request, query: ledger.StreamQuery) -> AsyncIterator[bytes]:
    """Yield the events of a stream; none for HEAD."""
    request.state.code = "cancelled"  # unless it reaches its end
    try:
        if request.method != "HEAD":
            async for batch in ledger.stream_transactions_async(request.state.store.list_transactions, query):
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
