"""grpcio's asyncio server on uvloop: python -m wirebench_services.grpc.aio_server."""

import asyncio
import inspect
import signal
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc
import uvloop
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2_grpc

from wirebench_services import metrics
from wirebench_services.application.ledger import parse_stream, stream_transactions_async
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc import calls
from wirebench_services.operations import OPERATIONS
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import run_workers

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


def unary(name: str) -> Any:  # noqa: ANN401 - each method has types of its own
    """Return the method that answers calls of an operation."""
    operation = OPERATIONS[name]

    async def answer(service: Any, request: Message, context: Context) -> Message:  # noqa: ANN401
        async with calls.Call(name, context):
            value = operation.handle(service.store, from_message(request))
            if inspect.iscoroutine(value):
                value = await value
            return operation.response(success=True, message=operation.success, data=to_fields(value))

    return answer


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store

    CreateUser = unary("users.create")
    GetUser = unary("users.get")
    UpdateUser = unary("users.update")
    DeleteUser = unary("users.delete")
    ListUsers = unary("users.list")
    CreateUserBatch = unary("users.create_batch")


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store

    GetBalance = unary("ledger.get_balance")

    async def StreamTransactions(
        self, request: ledger_pb2.StreamTransactionsRequest, context: Context
    ) -> AsyncIterator[ledger_pb2.StreamTransactionsResponse]:
        async with calls.Call("ledger.stream_transactions", context):
            async for transactions in stream_transactions_async(self.store, parse_stream(from_message(request))):
                for transaction in transactions:
                    yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    store = None
    Echo = unary("echo.echo")
    Upper = unary("echo.upper")


async def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_async_store(settings) as store:
        server = grpc.aio.server(options=calls.make_options(settings))
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
