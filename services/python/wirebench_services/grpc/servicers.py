"""The services of the proto files, over a store for threads."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from wirebench_proto import echo_pb2, echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2, users_pb2_grpc

from wirebench_services.application.echo import echo, upper
from wirebench_services.application.ledger import parse_account_id, parse_stream, stream_transactions
from wirebench_services.application.stores import Store
from wirebench_services.application.users import parse_batch, parse_id, parse_page, parse_update, parse_user
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc.calls import Response, make_response

Context = grpc.ServicerContext


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def CreateUser(self, request: users_pb2.CreateUserRequest, context: Context) -> Response:
        user = parse_user(from_message(request.user))
        return make_response("users.create", self._store.add_user(user))

    def GetUser(self, request: users_pb2.GetUserRequest, context: Context) -> Response:
        user_id = parse_id(from_message(request))
        return make_response("users.get", self._store.get_user(user_id))

    def UpdateUser(self, request: users_pb2.UpdateUserRequest, context: Context) -> Response:
        user_id, changes = parse_update(from_message(request))
        return make_response("users.update", self._store.change_user(user_id, changes))

    def DeleteUser(self, request: users_pb2.DeleteUserRequest, context: Context) -> Response:
        user_id = parse_id(from_message(request))
        return make_response("users.delete", self._store.remove_user(user_id))

    def ListUsers(self, request: users_pb2.ListUsersRequest, context: Context) -> Response:
        after_id, limit = parse_page(from_message(request))
        return make_response("users.list", self._store.list_users(after_id, limit))

    def CreateUserBatch(self, request: users_pb2.CreateUserBatchRequest, context: Context) -> Response:
        users = parse_batch(from_message(request))
        return make_response("users.create_batch", self._store.add_users(users))


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def GetBalance(self, request: ledger_pb2.GetBalanceRequest, context: Context) -> Response:
        account_id = parse_account_id(from_message(request))
        return make_response("ledger.get_balance", self._store.get_balance(account_id))

    def StreamTransactions(self, request: ledger_pb2.StreamTransactionsRequest, context: Context) -> Iterator[Response]:
        for transactions in stream_transactions(self._store, parse_stream(from_message(request))):
            for transaction in transactions:
                yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    def Echo(self, request: echo_pb2.EchoRequest, context: Context) -> Response:
        return make_response("echo.echo", echo(from_message(request)))

    def Upper(self, request: echo_pb2.UpperRequest, context: Context) -> Response:
        return make_response("echo.upper", upper(from_message(request)))
