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
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[Middleware(MetricsMiddleware), Middleware(BodyLimitMiddleware, bytes_max=settings.body_bytes_max)],
        exception_handlers=dict.fromkeys((OperationError, HTTPException, ClientDisconnect, Exception), answer_error),
    )


async def list_users(request: Request) -> Response:
    return reply(request, "users.list", await request.state.store.list_users(*users.parse_page(read_query(request))))


async def create_user(request: Request) -> Response:
    user = users.parse_user(await read_body(request, "users.create"))
    return reply(request, "users.create", await request.state.store.add_user(user), HTTPStatus.CREATED)


async def create_batch(request: Request) -> Response:
    batch = users.parse_batch(await read_body(request, "users.create_batch"))
    return reply(request, "users.create_batch", await request.state.store.add_users(batch), HTTPStatus.CREATED)


async def get_user(request: Request) -> Response:
    return reply(request, "users.get", await request.state.store.get_user(users.parse_id(read_query(request))))


async def update_user(request: Request) -> Response:
    fields = bodies.merge_path(await read_body(request, "users.update"), "id", request.path_params["id"])
    return reply(request, "users.update", await request.state.store.change_user(*users.parse_update(fields)))


async def delete_user(request: Request) -> Response:
    return reply(request, "users.delete", await request.state.store.remove_user(users.parse_id(read_query(request))))


async def get_balance(request: Request) -> Response:
    account_id = ledger.parse_account_id(read_query(request))
    return reply(request, "ledger.get_balance", await request.state.store.get_balance(account_id))


async def stream_transactions(request: Request) -> Response:
    events = generate_events(request, ledger.parse_stream(read_query(request)))
    return StreamingResponse(events, headers=bodies.EVENT_HEADERS)


async def echo_payload(request: Request) -> Response:
    return reply(request, "echo.echo", echo.echo(await read_body(request, "echo.echo")))


async def upper(request: Request) -> Response:
    return reply(request, "echo.upper", echo.upper(await read_body(request, "echo.upper")))


async def check_health(_: Request) -> Response:
    return PlainTextResponse("ok\n")


ROUTES = [
    Route("/api/users/{id}", get_user, name="users.get"),
    Route("/api/users/{id}", update_user, methods=["PUT"], name="users.update"),
    Route("/api/users/{id}", delete_user, methods=["DELETE"], name="users.delete"),
    Route("/api/users", list_users, name="users.list"),
    Route("/api/users", create_user, methods=["POST"], name="users.create"),
    Route("/api/users/batch", create_batch, methods=["POST"], name="users.create_batch"),
    Route("/accounts/{account_id}/balance", get_balance, name="ledger.get_balance"),
    Route("/transactions/stream", stream_transactions, name="ledger.stream_transactions"),
    Route("/echo", echo_payload, methods=["POST"], name="echo.echo"),
    Route("/upper", upper, methods=["POST"], name="echo.upper"),
    Route("/healthz", check_health),
]
OPERATIONS: dict[object, str] = {route.endpoint: route.name for route in ROUTES}


def read_query(request: Request) -> dict[str, int]:
    # Most requests have no query, and parsing none takes time, too.
    return bodies.parse_query(request.query_params if request["query_string"] else {}, request.path_params)


async def read_body(request: Request, operation: str) -> dict[str, Any]:
    return bodies.parse_body(operation, request.headers, await request.body())


def reply(request: Request, operation: str, value: Value, status: int = HTTPStatus.OK) -> Response:
    body, media_type = bodies.encode_success(operation, value, request.headers)
    return Response(body, status, media_type=media_type)


async def generate_events(request: Request, query: ledger.StreamQuery) -> AsyncIterator[bytes]:
    """Yield the events of a stream; none for HEAD."""
    try:
        if request.method != "HEAD":
            async for batch in ledger.stream_transactions_async(request.state.store, query):
                yield bodies.encode_events(batch)
        yield bodies.END_EVENT
    except OperationError as error:
        request.state.code = error.code
        yield bodies.encode_error_event(error)


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer what failed: an operation, routing (with Starlette's own status and headers), or our own code."""
    status, message, headers = 500, "Internal error.", None
    if isinstance(error, OperationError):
        status, message = bodies.STATUSES[error.code], error.message
    elif isinstance(error, HTTPException):
        status, message, headers = error.status_code, error.detail, error.headers
    elif isinstance(error, ClientDisconnect):
        status, message = HTTPStatus.BAD_REQUEST, "The client left before the end of the body."
    body, media_type = bodies.encode_failure(message, request.headers)
    return Response(body, status, headers, media_type)


class BodyLimitMiddleware:
    """Answers 413 to a request whose body is too long."""

    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self.app = app
        self.bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received_bytes = 0

        async def receive_limited() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self.bytes_max:
                raise HTTPException(413, f"The body is longer than {self.bytes_max} bytes.")
            return message

        await self.app(scope, receive_limited, send)


class MetricsMiddleware:
    """Counts each request when its reply has been sent, or its client has left."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/healthz":
            await self.app(scope, receive, send)
            return
        started_s = time.perf_counter()
        status, code = 0, "cancelled"

        async def send_and_note(message: Message) -> None:
            nonlocal status, code
            if message["type"] == "http.response.start":
                status = message["status"]
            elif not message.get("more_body"):
                code = scope["state"].get("code") or bodies.CODES.get(status, "invalid_argument")
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception:
            code = "internal"
            raise
        finally:
            operation = OPERATIONS.get(scope.get("endpoint"), metrics.UNKNOWN)
            if status == HTTPStatus.METHOD_NOT_ALLOWED:  # of a path that has other methods
                operation = metrics.UNKNOWN
            metrics.count_request("rest", operation, code, time.perf_counter() - started_s)
