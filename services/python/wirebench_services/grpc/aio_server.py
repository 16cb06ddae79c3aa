"""grpcio's asyncio server on uvloop: python -m wirebench_services.grpc.aio_server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
import uvloop
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2_grpc, ledger_pb2_grpc, users_pb2_grpc

from wirebench_services import metrics
from wirebench_services.application.stores import open_async_store
from wirebench_services.grpc import calls
from wirebench_services.grpc.aio_servicers import Context, EchoService, LedgerService, UserService
from wirebench_services.grpc.calls import Call, Handler, Response
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import run_workers


class OperationInterceptor(grpc.aio.ServerInterceptor):
    """Counts the calls of operations, and turns their errors into statuses."""

    async def intercept_service(
        self, continuation: Callable[..., Awaitable[Handler | None]], handler_call_details: grpc.HandlerCallDetails
    ) -> Handler | None:
        handler = await continuation(handler_call_details)
        operation = calls.find_operation(handler_call_details.method, handler)
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
            return grpc.unary_stream_rpc_method_handler(stream, *codecs)
        return grpc.unary_unary_rpc_method_handler(answer, *codecs)


async def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    store = await open_async_store(settings)
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
