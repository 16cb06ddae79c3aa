"""The two encodings of requests and replies: JSON and protobuf, both as fields by their names in the proto files."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple, TypeAlias, TypeVar

import orjson
from google.protobuf.message import DecodeError, Message
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2

from wirebench_services.application.echo import Payload, Text
from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User

#: What operations return.
Value: TypeAlias = User | list[User] | Balance | Transaction | Payload | Text
M = TypeVar("M", bound=Message)


class Operation(NamedTuple):
    """The messages of an operation, and the `message` of a successful reply."""

    request: type[Message]
    response: type[Message]
    success: str


OPERATIONS = {
    "users.create": Operation(users_pb2.CreateUserRequest, users_pb2.CreateUserResponse, "User created successfully"),
    "users.get": Operation(users_pb2.GetUserRequest, users_pb2.GetUserResponse, "User retrieved successfully"),
    "users.update": Operation(users_pb2.UpdateUserRequest, users_pb2.UpdateUserResponse, "User updated successfully"),
    "users.delete": Operation(users_pb2.DeleteUserRequest, users_pb2.DeleteUserResponse, "User deleted successfully"),
    "users.list": Operation(users_pb2.ListUsersRequest, users_pb2.ListUsersResponse, "Users retrieved successfully"),
    "users.create_batch": Operation(
        users_pb2.CreateUserBatchRequest, users_pb2.CreateUserBatchResponse, "Users created successfully"
    ),
    "ledger.get_balance": Operation(
        ledger_pb2.GetBalanceRequest, ledger_pb2.GetBalanceResponse, "Balance retrieved successfully"
    ),
    "ledger.stream_transactions": Operation(
        ledger_pb2.StreamTransactionsRequest, ledger_pb2.StreamTransactionsResponse, ""
    ),
    "echo.echo": Operation(echo_pb2.EchoRequest, echo_pb2.EchoResponse, "Payload echoed successfully"),
    "echo.upper": Operation(echo_pb2.UpperRequest, echo_pb2.UpperResponse, "Text upper-cased successfully"),
}


def to_fields(value: Value) -> Any:  # noqa: ANN401 - fields, or a list of them
    """Return the fields of an operation's value, with bytes as bytes."""
    if isinstance(value, User):
        return value.as_fields()
    if isinstance(value, list):
        return [user.as_fields() for user in value]
    return value._asdict()


def to_json(fields: object) -> bytes:
    """Encode fields as JSON; bytes become base64."""
    return orjson.dumps(fields, default=lambda value: base64.b64encode(value).decode())


def from_json(body: bytes) -> dict[str, Any]:
    """Decode a JSON object; an empty body counts as `{}`. Raises InvalidArgument."""
    try:
        fields = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise InvalidArgument(f"The body is not valid JSON: {error}.") from None
    if type(fields) is not dict:
        raise InvalidArgument("The body must be a JSON object.")
    users = fields.get("users")
    for item in (fields, fields.get("user"), *(users if isinstance(users, list) else ())):
        if isinstance(item, dict):
            _decode_bytes(item)
    return fields


def from_message(message: Message) -> dict[str, Any]:
    """Return the fields that are set in a message, without those at proto3's zero values."""
    return {field.name: _from_message_value(value) for field, value in message.ListFields()}


def parse_message(kind: type[M], body: bytes) -> M:
    """Decode a protobuf message; unknown fields are ignored. Raises InvalidArgument."""
    try:
        return kind.FromString(body)
    except DecodeError:
        raise InvalidArgument(f"The body is not a valid {kind.DESCRIPTOR.name}.") from None


def _from_message_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Message):
        return from_message(value)
    if isinstance(value, str | bytes | int):
        return value
    return [_from_message_value(item) for item in value]


def _decode_bytes(fields: dict[str, Any]) -> None:
    for name in ("avatar", "payload"):
        if fields.get(name) is not None:
            try:
                fields[name] = base64.b64decode(fields[name], validate=True)
            except (TypeError, ValueError):
                raise InvalidArgument(f"Field '{name}' must be base64 text.") from None
