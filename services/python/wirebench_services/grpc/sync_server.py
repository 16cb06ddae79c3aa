"""grpcio with a pool of threads: python -m wirebench_services.grpc.sync_server."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import ledger_pb2

from wirebench_services import metrics
from wirebench_services.application import ledger
from wirebench_services.application.operations import HANDLERS
from wirebench_services.application.stores import Store, open_store
from wirebench_services.contract import STREAM, AnyMessage, read_fields
from wirebench_services.encoding import to_fields
from wirebench_services.grpc import calls
from wirebench_services.grpc.calls import Call, Context, Method, Response, make_response
from wirebench_services.settings import STOP_SIGNALS, GrpcSettings, read_settings

#: Health checks and watches that are open at once; one more waits until another ends.
_HEALTH_THREADS_MAX = 1000


def add_services(server: grpc.Server, store: Store) -> None:
    """Serve the application with the threads of the server."""

    def make_method(operation: str) -> Method:
        handle = HANDLERS[operation]

        def answer(request: AnyMessage, context: Context) -> Response:
            with Call(operation, context):
                return make_response(operation, handle(store, read_fields(request)))

        return answer

    def stream(request: AnyMessage, context: Context) -> Iterator[Response]:
        with Call(STREAM, context):
            query = ledger.parse_stream(read_fields(request))
            for transactions in ledger.stream_transactions(store, query):
                for transaction in transactions:
                    yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))

    calls.add_services(server, make_method, stream)


def add_health(server: grpc.Server) -> health.HealthServicer:
    """Serve health with threads of its own, so that a busy service is healthy."""
    threads = ThreadPoolExecutor(_HEALTH_THREADS_MAX)
    # In its default mode, without threads, it deadlocks: docs/decisions.md.
    states = health.HealthServicer(experimental_non_blocking=False, experimental_thread_pool=threads)
    states.Check.__func__.experimental_thread_pool = threads  # type: ignore[attr-defined] # as it does with Watch
    health_pb2_grpc.add_HealthServicer_to_server(states, server)
    for name in calls.SERVICE_NAMES:
        states.set(name, health_pb2.HealthCheckResponse.SERVING)
    return states


def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    # All threads inherit this, so that the signals wait for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    with contextlib.closing(open_store(settings)) as store:
        server = grpc.server(ThreadPoolExecutor(settings.threads), options=calls.make_options(settings))
        add_services(server, store)
        states = add_health(server)
        reflection.enable_server_reflection(calls.REFLECTED_NAMES, server)
        calls.add_port(server, settings)
        server.start()
        metrics.WORKERS.set(1)
        signal.sigwait(STOP_SIGNALS)
        states.enter_graceful_shutdown()
        server.stop(settings.drain_timeout_s).wait()


if __name__ == "__main__":
    serve(read_settings(GrpcSettings))
