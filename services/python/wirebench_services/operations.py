"""The operations by name: what each does, its messages, and what a successful reply says."""

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.message import Message
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2

from wirebench_services.application import echo, ledger, users
from wirebench_services.application.users import Fields


class Operation(NamedTuple):
    """`handle` takes a store, and returns a value or, of an AsyncStore, an awaitable of it; of a stream, the query."""

    success: str
    request: type[Message]
    response: type[Message]
    handle: Callable[[Any, Fields], Any]


OPERATIONS = {
    "users.create": Operation(
        "User created successfully", users_pb2.CreateUserRequest, users_pb2.CreateUserResponse,
        lambda store, fields: store.add_user(users.parse_creation(fields)),
    ),
    "users.get": Operation(
        "User retrieved successfully", users_pb2.GetUserRequest, users_pb2.GetUserResponse,
        lambda store, fields: store.get_user(users.parse_id(fields)),
    ),
    "users.update": Operation(
        "User updated successfully", users_pb2.UpdateUserRequest, users_pb2.UpdateUserResponse,
        lambda store, fields: store.change_user(*users.parse_update(fields)),
    ),
    "users.delete": Operation(
        "User deleted successfully", users_pb2.DeleteUserRequest, users_pb2.DeleteUserResponse,
        lambda store, fields: store.remove_user(users.parse_id(fields)),
    ),
    "users.list": Operation(
        "Users retrieved successfully", users_pb2.ListUsersRequest, users_pb2.ListUsersResponse,
        lambda store, fields: store.list_users(*users.parse_page(fields)),
    ),
    "users.create_batch": Operation(
        "Users created successfully", users_pb2.CreateUserBatchRequest, users_pb2.CreateUserBatchResponse,
        lambda store, fields: store.add_users(users.parse_batch(fields)),
    ),
    "ledger.get_balance": Operation(
        "Balance retrieved successfully", ledger_pb2.GetBalanceRequest, ledger_pb2.GetBalanceResponse,
        lambda store, fields: store.get_balance(ledger.parse_account_id(fields)),
    ),
    "ledger.stream_transactions": Operation(
        "", ledger_pb2.StreamTransactionsRequest, ledger_pb2.StreamTransactionsResponse,
        lambda _, fields: ledger.parse_stream(fields),
    ),
    "echo.echo": Operation(
        "Payload echoed successfully", echo_pb2.EchoRequest, echo_pb2.EchoResponse,
        lambda _, fields: echo.echo(fields),
    ),
    "echo.upper": Operation(
        "Text upper-cased successfully", echo_pb2.UpperRequest, echo_pb2.UpperResponse,
        lambda _, fields: echo.upper(fields),
    ),
}  # fmt: skip
