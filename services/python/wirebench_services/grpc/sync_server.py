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
from wirebench_services.application.echo import echo, upper
from wirebench_services.application.ledger import parse_account_id, parse_stream, stream_transactions
from wirebench_services.application.stores import Store, open_store
from wirebench_services.application.users import parse_batch, parse_id, parse_page, parse_update, parse_user
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc import calls
from wirebench_services.grpc.calls import Call, Handler, Response, make_response
from wirebench_services.settings import GrpcSettings, read_settings
from wirebench_services.workers import run_workers

#: Health watches that are open at once; one more waits until another ends.
_WATCHES_MAX = 1000

Context = grpc.ServicerContext


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def CreateUser(self, request: users_pb2.CreateUserRequest, context: Context) -> Response:
        user = parse_user(from_message(request.user))
        return make_response("users.create", self._store.add_user(user))

    def GetUser(self, request: users_pb2.GetUserRequest, context: Context) -> Response:
        user_id = parse_id({"id": request.id})
        return make_response("users.get", self._store.get_user(user_id))

    def UpdateUser(self, request: users_pb2.UpdateUserRequest, context: Context) -> Response:
        user_id, changes = parse_update(from_message(request))
        return make_response("users.update", self._store.change_user(user_id, changes))

    def DeleteUser(self, request: users_pb2.DeleteUserRequest, context: Context) -> Response:
        user_id = parse_id({"id": request.id})
        return make_response("users.delete", self._store.remove_user(user_id))

    def ListUsers(self, request: users_pb2.ListUsersRequest, context: Context) -> Response:
        after_id, limit = parse_page({"after_id": request.after_id, "limit": request.limit})
        return make_response("users.list", self._store.list_users(after_id, limit))

    def CreateUserBatch(self, request: users_pb2.CreateUserBatchRequest, context: Context) -> Response:
        users = parse_batch(from_message(request))
        return make_response("users.create_batch", self._store.add_users(users))


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def GetBalance(self, request: ledger_pb2.GetBalanceRequest, context: Context) -> Response:
        account_id = parse_account_id({"account_id": request.account_id})
        return make_response("ledger.get_balance", self._store.get_balance(account_id))

    def StreamTransactions(self, request: ledger_pb2.StreamTransactionsRequest, context: Context) -> Iterator[Response]:
        for transactions in stream_transactions(self._store, parse_stream(from_message(request))):
            for transaction in transactions:
                yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    def Echo(self, request: echo_pb2.EchoRequest, context: Context) -> Response:
        return make_response("echo.echo", echo({"payload": request.payload}))

    def Upper(self, request: echo_pb2.UpperRequest, context: Context) -> Response:
        return make_response("echo.upper", upper({"text": request.text}))


class OperationInterceptor(grpc.ServerInterceptor):
    """Counts the calls of operations, and turns their errors into statuses."""

    def __init__(self) -> None:
        #: By method, so that a handler is wrapped once and not for each call.
        self._handlers: dict[str, Handler] = {}

    def intercept_service(
        self, continuation: Callable[..., Handler | None], handler_call_details: grpc.HandlerCallDetails
    ) -> Handler | None:
        method = handler_call_details.method
        if method in self._handlers:
            return self._handlers[method]
        handler = continuation(handler_call_details)
        operation = calls.find_operation(method, handler)
        if handler is None or operation is None:
            return handler

        def answer(request: Message, context: Context) -> Response:
            with Call(operation, context):
                return handler.unary_unary(request, context)

        def stream(request: Message, context: Context) -> Iterator[Response]:
            with Call(operation, context):
                yield from handler.unary_stream(request, context)

        codecs = handler.request_deserializer, handler.response_serializer
        if handler.response_streaming:
            self._handlers[method] = grpc.unary_stream_rpc_method_handler(stream, *codecs)
        else:
            self._handlers[method] = grpc.unary_unary_rpc_method_handler(answer, *codecs)
        return self._handlers[method]


def serve(settings: GrpcSettings) -> None:
    """Serve in this process until SIGTERM, then let the calls in flight finish."""
    # All threads inherit this, so that the signals wait for sigwait.
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with contextlib.closing(open_store(settings)) as store:
        threads = ThreadPoolExecutor(settings.threads)
        server = grpc.server(threads, interceptors=[OperationInterceptor()], options=calls.make_options(settings))
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
