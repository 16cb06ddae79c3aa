"""grpcio's asyncio server on uvloop: all calls share one thread."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc.aio
import uvloop
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.domain import stores
from services.domain.errors import Code
from services.grpc import silent_clients
from services.grpc.calls import STATUSES, answer, answer_async, begin, refuse_unknown
from services.grpc.health import AioHealth
from services.grpc.server import SERVICE_NAMES, RpcHandler, add_services, listen, options
from services.operations import Operation, Outcome
from services.operations.stream import batches_in_loop
from services.platform.lifecycle import Runtime, Worker

_Context = grpc.aio.ServicerContext[Any, Any]


def run(worker: Worker) -> None:
    """Serve until SIGTERM, then finish what is in flight."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(worker))


async def _run(worker: Worker) -> None:
    async with stores.held_open(worker.store):
        await _serve(worker)


async def _serve(worker: Worker) -> None:
    settings = worker.settings
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = grpc.aio.server(options=options(settings))
    states = AioHealth()
    for name in SERVICE_NAMES:
        await states.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(states, server)
    add_services(server, partial(_handler, worker), partial(_stream_handler, worker), partial(_refusal, worker))
    listen(server, settings)
    await server.start()
    worker.ready()
    await stop.wait()
    worker.stopping.set()
    await states.enter_graceful_shutdown()
    # Sends GOAWAY, and cancels what is left after the time-out.
    stopped = asyncio.ensure_future(server.stop(settings.drain_timeout_s))
    while not (await asyncio.wait({stopped}, timeout=silent_clients.CHECK_INTERVAL_S))[0]:
        silent_clients.hang_up(settings.port)


def _handler(worker: Worker, operation: Operation) -> RpcHandler:
    async def behave(request: bytes, context: _Context) -> bytes:
        begun_s = worker.recorder.started()
        if worker.application.asynchronous:
            # Shielded, because a call that has begun has to be counted, even if its client no longer waits.
            outcome = await asyncio.shield(answer_async(worker, operation, request, begun_s))
        else:
            outcome = answer(worker, operation, request, begun_s)
        if outcome.code is not Code.OK:
            await context.abort(STATUSES[outcome.code], outcome.message)
        return outcome.body

    return grpc.unary_unary_rpc_method_handler(behave)


def _stream_handler(worker: Worker, operation: Operation) -> RpcHandler:
    async def behave(request: bytes, context: _Context) -> AsyncIterator[bytes]:
        begun_s = worker.recorder.started()
        stream = begin(worker, operation, request, begun_s)
        if isinstance(stream, Outcome):
            await context.abort(STATUSES[stream.code], stream.message)
        try:
            async for items in batches_in_loop(stream, worker.stopping, _wait):
                for item in items:
                    yield item
        finally:
            outcome = stream.count(worker.recorder, begun_s, len(request))
        if outcome.code is not Code.OK:
            await context.abort(STATUSES[outcome.code], outcome.message)

    return grpc.unary_stream_rpc_method_handler(behave)


async def _wait(duration_s: float) -> bool:
    """Wait; a client that leaves cancels the task that waits."""
    await asyncio.sleep(duration_s)
    return False


def _refusal(worker: Worker, method: str) -> RpcHandler:
    async def behave(_requests: AsyncIterator[bytes], context: _Context) -> None:
        outcome = refuse_unknown(worker, method, worker.recorder.started())
        await context.abort(STATUSES[outcome.code], outcome.message)

    return grpc.stream_stream_rpc_method_handler(behave)


RUNTIME = Runtime("aio", run=run, asynchronous=True)
