"""grpcio with a pool of threads: python -m wirebench_services.grpc.sync_server."""

import contextlib
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2_grpc

from wirebench_services import metrics
from wirebench_services.application.ledger import parse_stream, stream_transactions
from wirebench_services.application.stores import Store, open_store
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc import calls
from wirebench_services.operations import OPERATIONS
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import run_workers

#: Health watches that are open at once; one more waits until another ends.
_WATCHES_MAX = 1000


def unary(name: str) -> Any:  # noqa: ANN401 - each method has types of its own
    """Return the method that answers calls of an operation."""
    operation = OPERATIONS[name]

    def answer(service: Any, request: Message, context: grpc.ServicerContext) -> Message:  # noqa: ANN401
        with calls.Call(name, context):
            value = operation.handle(service.store, from_message(request))
            return operation.response(success=True, message=operation.success, data=to_fields(value))

    return answer


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: Store) -> None:
        self.store = store

    CreateUser = unary("users.create")
    GetUser = unary("users.get")
    UpdateUser = unary("users.update")
    DeleteUser = unary("users.delete")
    ListUsers = unary("users.list")
    CreateUserBatch = unary("users.create_batch")


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: Store) -> None:
        self.store = store

    GetBalance = unary("ledger.get_balance")

    def StreamTransactions(
        self, request: ledger_pb2.StreamTransactionsRequest, context: grpc.ServicerContext
    ) -> Iterator[ledger_pb2.StreamTransactionsResponse]:
        with calls.Call("ledger.stream_transactions", context):
            for transactions in stream_transactions(self.store, parse_stream(from_message(request))):
                for transaction in transactions:
                    yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    store = None
    Echo = unary("echo.echo")
    Upper = unary("echo.upper")


def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    # All threads inherit this, so that the signals wait for sigwait.
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with contextlib.closing(open_store(settings)) as store:
        server = grpc.server(ThreadPoolExecutor(settings.threads), options=calls.make_options(settings))
        users_pb2_grpc.add_UserServiceServicer_to_server(UserService(store), server)
        ledger_pb2_grpc.add_LedgerServiceServicer_to_server(LedgerService(store), server)
        echo_pb2_grpc.add_EchoServiceServicer_to_server(EchoService(), server)
        # In its default mode, without threads, it deadlocks: docs/decisions/026-health-watches-hold-threads.md.
        watches = ThreadPoolExecutor(_WATCHES_MAX)
        states = health.HealthServicer(experimental_non_blocking=False, experimental_thread_pool=watches)
        health_pb2_grpc.add_HealthServicer_to_server(states, server)
        for name in calls.SERVICE_NAMES:
            states.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(calls.REFLECTED_NAMES, server)
        calls.add_port(server, settings)
        server.start()
        metrics.WORKERS.set(1)
        signal.sigwait(signals)
        states.enter_graceful_shutdown()
        server.stop(settings.drain_timeout_s).wait()


if __name__ == "__main__":
    settings = read_settings(GrpcSettings)
    run_workers(settings.workers, lambda: serve(settings))
