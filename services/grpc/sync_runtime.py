"""grpcio with a pool of threads: each call holds one from its first byte to its last."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from services.domain.errors import Code
from services.grpc import silent_clients
from services.grpc.calls import STATUSES, answer, begin, refuse_unknown
from services.grpc.server import SERVICE_NAMES, RpcHandler, add_services, listen, options
from services.grpc.slow_clients import SlowClients
from services.operations import Operation, Outcome
from services.operations.stream import batches
from services.platform.lifecycle import Runtime, Worker
from services.platform.signals import stop_signals

#: Each holds a thread, which is started when it is needed. One more waits until another ends.
_WATCHES_MAX = 1000


def run(worker: Worker) -> None:
    """Serve until SIGTERM, then finish what is in flight."""
    settings = worker.settings
    with stop_signals() as stop:
        server = grpc.server(ThreadPoolExecutor(settings.threads), options=options(settings))
        # The default mode, without threads, deadlocks: docs/decisions/026-health-watches-hold-threads.md.
        watches = ThreadPoolExecutor(_WATCHES_MAX)
        states = health.HealthServicer(experimental_non_blocking=False, experimental_thread_pool=watches)
        for name in SERVICE_NAMES:
            states.set(name, health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(states, server)
        slow_clients = SlowClients(settings.read_timeout_s)
        add_services(
            server,
            partial(_handler, worker, slow_clients),
            partial(_stream_handler, worker, slow_clients),
            partial(_refusal, worker),
        )
        listen(server, settings)
        server.start()
        worker.ready()
        stop.recv(1)
        worker.stopping.set()
        states.enter_graceful_shutdown()
        # Sends GOAWAY, and cancels what is left after the time-out.
        stopped = server.stop(settings.drain_timeout_s)
        while not stopped.wait(silent_clients.CHECK_INTERVAL_S):
            silent_clients.hang_up(settings.port)


def _handler(worker: Worker, slow_clients: SlowClients, operation: Operation) -> RpcHandler:
    def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        request = slow_clients.read(requests, context)
        outcome = answer(worker, operation, request, worker.recorder.started())
        if outcome.code is not Code.OK:
            context.abort(STATUSES[outcome.code], outcome.message)
        return outcome.body

    # On the wire a stream of one request is a unary call, and here it can be waited for with a time-out.
    return grpc.stream_unary_rpc_method_handler(behave)


def _stream_handler(worker: Worker, slow_clients: SlowClients, operation: Operation) -> RpcHandler:
    def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        request = slow_clients.read(requests, context)
        begun_s = worker.recorder.started()
        stream = begin(worker, operation, request, begun_s)
        if isinstance(stream, Outcome):
            context.abort(STATUSES[stream.code], stream.message)
        left = threading.Event()
        if not context.add_callback(left.set):
            left.set()
        try:
            for items in batches(stream, worker.stopping, left.wait):
                yield from items
        finally:  # also where gRPC asks for no more, because the call is over
            outcome = stream.count(worker.recorder, begun_s, len(request))
        if outcome.code is not Code.OK:
            context.abort(STATUSES[outcome.code], outcome.message)

    return grpc.stream_stream_rpc_method_handler(behave)


def _refusal(worker: Worker, method: str) -> RpcHandler:
    def behave(_requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        outcome = refuse_unknown(worker, method, worker.recorder.started())
        context.abort(STATUSES[outcome.code], outcome.message)

    return grpc.stream_stream_rpc_method_handler(behave)


RUNTIME = Runtime("sync", run=run)
