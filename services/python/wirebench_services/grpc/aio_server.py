"""grpcio's asyncio server on uvloop: python -m wirebench_services.grpc.aio_server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
import uvloop
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2, echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2, users_pb2_grpc

from wirebench_services import metrics
from wirebench_services.application.echo import echo, upper
from wirebench_services.application.ledger import parse_account_id, parse_stream, stream_transactions_async
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.application.users import parse_batch, parse_id, parse_page, parse_update, parse_user
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc import calls
from wirebench_services.grpc.calls import Call, Handler, Response, make_response
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import run_workers

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def CreateUser(self, request: users_pb2.CreateUserRequest, context: Context) -> Response:
        user = parse_user(from_message(request.user))
        return make_response("users.create", await self._store.add_user(user))

    async def GetUser(self, request: users_pb2.GetUserRequest, context: Context) -> Response:
        user_id = parse_id({"id": request.id})
        return make_response("users.get", await self._store.get_user(user_id))

    async def UpdateUser(self, request: users_pb2.UpdateUserRequest, context: Context) -> Response:
        user_id, changes = parse_update(from_message(request))
        return make_response("users.update", await self._store.change_user(user_id, changes))

    async def DeleteUser(self, request: users_pb2.DeleteUserRequest, context: Context) -> Response:
        user_id = parse_id({"id": request.id})
        return make_response("users.delete", await self._store.remove_user(user_id))

    async def ListUsers(self, request: users_pb2.ListUsersRequest, context: Context) -> Response:
        after_id, limit = parse_page({"after_id": request.after_id, "limit": request.limit})
        return make_response("users.list", await self._store.list_users(after_id, limit))

    async def CreateUserBatch(self, request: users_pb2.CreateUserBatchRequest, context: Context) -> Response:
        users = parse_batch(from_message(request))
        return make_response("users.create_batch", await self._store.add_users(users))


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def GetBalance(self, request: ledger_pb2.GetBalanceRequest, context: Context) -> Response:
        account_id = parse_account_id({"account_id": request.account_id})
        return make_response("ledger.get_balance", await self._store.get_balance(account_id))

    async def StreamTransactions(
        self, request: ledger_pb2.StreamTransactionsRequest, context: Context
    ) -> AsyncIterator[Response]:
        async for transactions in stream_transactions_async(self._store, parse_stream(from_message(request))):
            for transaction in transactions:
                yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    async def Echo(self, request: echo_pb2.EchoRequest, context: Context) -> Response:
        return make_response("echo.echo", echo({"payload": request.payload}))

    async def Upper(self, request: echo_pb2.UpperRequest, context: Context) -> Response:
        return make_response("echo.upper", upper({"text": request.text}))


class OperationInterceptor(grpc.aio.ServerInterceptor):
    """Counts the calls of operations, and turns their errors into statuses."""

    def __init__(self) -> None:
        #: By method, so that a handler is wrapped once and not for each call.
        self._handlers: dict[str, Handler] = {}

    async def intercept_service(
        self, continuation: Callable[..., Awaitable[Handler | None]], handler_call_details: grpc.HandlerCallDetails
    ) -> Handler | None:
        method = handler_call_details.method
        if method in self._handlers:
            return self._handlers[method]
        handler = await continuation(handler_call_details)
        operation = calls.find_operation(method, handler)
        if handler is None or operation is None:
            return handler

        async def answer(request: Message, context: Context) -> Response:
            async with Call(operation, context):
                return await handler.unary_unary(request, context)

        async def stream(request: Message, context: Context) -> AsyncIterator[Response]:
            async with Call(operation, context):
                async for response in handler.unary_stream(request, context):
                    yield response

        codecs = handler.request_deserializer, handler.response_serializer
        if handler.response_streaming:
            self._handlers[method] = grpc.unary_stream_rpc_method_handler(stream, *codecs)
        else:
            self._handlers[method] = grpc.unary_unary_rpc_method_handler(answer, *codecs)
        return self._handlers[method]


async def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    store = open_async_store(settings)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        server = grpc.aio.server(interceptors=[OperationInterceptor()], options=calls.make_options(settings))
        users_pb2_grpc.add_UserServiceServicer_to_server(UserService(store), server)
        ledger_pb2_grpc.add_LedgerServiceServicer_to_server(LedgerService(store), server)
        echo_pb2_grpc.add_EchoServiceServicer_to_server(EchoService(), server)
        states = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(states, server)
        for name in calls.SERVICE_NAMES:
            await states.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(calls.REFLECTED_NAMES, server)
        calls.add_port(server, settings)
        await server.start()
        metrics.WORKERS.set(1)
        await stop.wait()
        await states.enter_graceful_shutdown()
        await server.stop(settings.drain_timeout_s)


if __name__ == "__main__":
    settings = read_settings(GrpcSettings)
    run_workers(settings.workers, lambda: uvloop.run(serve(settings)))
