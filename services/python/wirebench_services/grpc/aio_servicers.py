"""The services of the proto files, over a store for an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc
from wirebench_proto import echo_pb2, echo_pb2_grpc, ledger_pb2, ledger_pb2_grpc, users_pb2, users_pb2_grpc

from wirebench_services.application.echo import echo, upper
from wirebench_services.application.ledger import parse_account_id, parse_stream, stream_transactions_async
from wirebench_services.application.stores import AsyncStore
from wirebench_services.application.users import parse_batch, parse_id, parse_page, parse_update, parse_user
from wirebench_services.encoding import from_message, to_fields
from wirebench_services.grpc.calls import Response, make_response

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class UserService(users_pb2_grpc.UserServiceServicer):
    """Keeps users."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def CreateUser(self, request: users_pb2.CreateUserRequest, context: Context) -> Response:
        user = parse_user(from_message(request.user))
        return make_response("users.create", await self._store.add_user(user))

    async def GetUser(self, request: users_pb2.GetUserRequest, context: Context) -> Response:
        user_id = parse_id(from_message(request))
        return make_response("users.get", await self._store.get_user(user_id))

    async def UpdateUser(self, request: users_pb2.UpdateUserRequest, context: Context) -> Response:
        user_id, changes = parse_update(from_message(request))
        return make_response("users.update", await self._store.change_user(user_id, changes))

    async def DeleteUser(self, request: users_pb2.DeleteUserRequest, context: Context) -> Response:
        user_id = parse_id(from_message(request))
        return make_response("users.delete", await self._store.remove_user(user_id))

    async def ListUsers(self, request: users_pb2.ListUsersRequest, context: Context) -> Response:
        after_id, limit = parse_page(from_message(request))
        return make_response("users.list", await self._store.list_users(after_id, limit))

    async def CreateUserBatch(self, request: users_pb2.CreateUserBatchRequest, context: Context) -> Response:
        users = parse_batch(from_message(request))
        return make_response("users.create_batch", await self._store.add_users(users))


class LedgerService(ledger_pb2_grpc.LedgerServiceServicer):
    """Reads the ledger."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def GetBalance(self, request: ledger_pb2.GetBalanceRequest, context: Context) -> Response:
        account_id = parse_account_id(from_message(request))
        return make_response("ledger.get_balance", await self._store.get_balance(account_id))

    async def StreamTransactions(
        self, request: ledger_pb2.StreamTransactionsRequest, context: Context
    ) -> AsyncIterator[Response]:
        async for transactions in stream_transactions_async(self._store, parse_stream(from_message(request))):
            for transaction in transactions:
                yield ledger_pb2.StreamTransactionsResponse(data=to_fields(transaction))


class EchoService(echo_pb2_grpc.EchoServiceServicer):
    """Gives back what it gets."""

    async def Echo(self, request: echo_pb2.EchoRequest, context: Context) -> Response:
        return make_response("echo.echo", echo(from_message(request)))

    async def Upper(self, request: echo_pb2.UpperRequest, context: Context) -> Response:
        return make_response("echo.upper", upper(from_message(request)))
