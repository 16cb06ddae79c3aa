"""grpcio's asyncio server on uvloop: python -m wirebench_services.grpc.aio_server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import ledger_pb2

from wirebench_services import metrics
from wirebench_services.application import ledger
from wirebench_services.application.operations import HANDLERS, resolve
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.contract import STREAM, AnyMessage, read_fields
from wirebench_services.encoding import to_fields
from wirebench_services.grpc import calls
from wirebench_services.grpc.calls import Call, Context, Method, Response, make_response
from wirebench_services.settings import STOP_SIGNALS, GrpcSettings, read_settings


def add_services(server: grpc.aio.Server, store: AsyncStore) -> None:
    """Serve the application in the event loop."""

    def make_method(operation: str) -> Method:
        handle = HANDLERS[operation]

        async def answer(request: AnyMessage, context: Context) -> Response:
            async with Call(operation, context):
                return make_response(operation, await resolve(handle(store, read_fields(request))))

        return answer

    async def stream(request: AnyMessage, context: Context) -> AsyncIterator[Response]:
        async with Call(STREAM, context):
            query = ledger.parse_stream(read_fields(request))
            async for transactions in ledger.stream_transactions_async(store, query):
                for transaction in transactions:
                    yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))

    calls.add_services(server, make_method, stream)


async def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    store = open_async_store(settings)
    server = grpc.aio.server(options=calls.make_options(settings))
    add_services(server, store)
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
    await resolve(store.close())


if __name__ == "__main__":
    uvloop.run(serve(read_settings(GrpcSettings)))
