"""grpcio with a pool of threads: python -m wirebench_services.grpc.sync_server."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from wirebench_proto import echo_pb2, echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2, users_pb2_grpc

from wirebench_services import metrics
from wirebench_services.application import echo, ledger, users
from wirebench_services.application.stores import Store, open_store
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc import calls
from wirebench_services.grpc.calls import Call, Response, Result, make_response
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import STOP_SIGNALS, run_workers

#: Health watches that are open at once; one more waits until another ends.
_WATCHES_MAX = 1000

Context = grpc.ServicerContext


def unary(operation: str) -> Callable[[Callable[..., Result]], Callable[..., Response]]:
    """Answer calls of an operation with the value that the method returns, and with its error as a status."""

    def decorate(method: Callable[..., Result]) -> Callable[..., Response]:
        def answer(service: object, request: Message, context: Context) -> Response:
            with Call(operation, context):
                return make_response(operation, method(service, request, context))

        return answer

    return decorate


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @unary("users.create")
    def CreateUser(self, request: users_pb2.CreateUserRequest, context: Context) -> Result:
        return self._store.add_user(users.parse_user(from_message(request.user)))

    @unary("users.get")
    def GetUser(self, request: users_pb2.GetUserRequest, context: Context) -> Result:
        return self._store.get_user(users.parse_id({"id": request.id}))

    @unary("users.update")
    def UpdateUser(self, request: users_pb2.UpdateUserRequest, context: Context) -> Result:
        return self._store.change_user(*users.parse_update(from_message(request)))

    @unary("users.delete")
    def DeleteUser(self, request: users_pb2.DeleteUserRequest, context: Context) -> Result:
        return self._store.remove_user(users.parse_id({"id": request.id}))

    @unary("users.list")
    def ListUsers(self, request: users_pb2.ListUsersRequest, context: Context) -> Result:
        return self._store.list_users(*users.parse_page({"after_id": request.after_id, "limit": request.limit}))

    @unary("users.create_batch")
    def CreateUserBatch(self, request: users_pb2.CreateUserBatchRequest, context: Context) -> Result:
        return self._store.add_users(users.parse_batch(from_message(request)))


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @unary("ledger.get_balance")
    def GetBalance(self, request: ledger_pb2.GetBalanceRequest, context: Context) -> Result:
        return self._store.get_balance(ledger.parse_account_id({"account_id": request.account_id}))

    def StreamTransactions(self, request: ledger_pb2.StreamTransactionsRequest, context: Context) -> Iterator[Response]:
        with Call("ledger.stream_transactions", context):
            query = ledger.parse_stream(from_message(request))
            for transactions in ledger.stream_transactions(self._store.list_transactions, query):
                for transaction in transactions:
                    yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    @unary("echo.echo")
    def Echo(self, request: echo_pb2.EchoRequest, context: Context) -> Result:
        return echo.echo({"payload": request.payload})

    @unary("echo.upper")
    def Upper(self, request: echo_pb2.UpperRequest, context: Context) -> Result:
        return echo.upper({"text": request.text})


def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    # All threads inherit this, so that the signals wait for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    with contextlib.closing(open_store(settings)) as store:
        threads = ThreadPoolExecutor(settings.threads)
        server = grpc.server(threads, options=calls.make_options(settings))
        users_pb2_grpc.add_UserServiceServicer_to_server(UserService(store), server)
        ledger_pb2_grpc.add_LedgerServiceServicer_to_server(LedgerService(store), server)
        echo_pb2_grpc.add_EchoServiceServicer_to_server(EchoService(), server)
        # In its default mode, without threads, it deadlocks: docs/decisions.md.
        watches = ThreadPoolExecutor(_WATCHES_MAX)
        states = health.HealthServicer(experimental_non_blocking=False, experimental_thread_pool=watches)
        health_pb2_grpc.add_HealthServicer_to_server(states, server)
        for name in calls.SERVICE_NAMES:
            states.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(calls.REFLECTED_NAMES, server)
        calls.add_port(server, settings)
        server.start()
        metrics.WORKERS.set(1)
        signal.sigwait(STOP_SIGNALS)
        states.enter_graceful_shutdown()
        server.stop(settings.drain_timeout_s).wait()


if __name__ == "__main__":
    settings = read_settings(GrpcSettings)
    run_workers(settings.workers, lambda: serve(settings))
