"""Requests and replies in the two encodings; the JSON mapping of proto3 is the bridge between them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2

from wirebench.clients.client import ClientError, Fields

_BYTES_FIELDS = ("avatar", "payload")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the contract: its gRPC method and its messages."""

    method: str
    request: type[Message]
    response: type[Message]


_USERS = "/wirebench.v1.UserService"
_LEDGER = "/wirebench.v1.LedgerService"
_ECHO = "/wirebench.v1.EchoService"
_OPERATIONS = {
    "users.create": Operation(f"{_USERS}/CreateUser", users_pb2.CreateUserRequest, users_pb2.CreateUserResponse),
    "users.get": Operation(f"{_USERS}/GetUser", users_pb2.GetUserRequest, users_pb2.GetUserResponse),
    "users.update": Operation(f"{_USERS}/UpdateUser", users_pb2.UpdateUserRequest, users_pb2.UpdateUserResponse),
    "users.delete": Operation(f"{_USERS}/DeleteUser", users_pb2.DeleteUserRequest, users_pb2.DeleteUserResponse),
    "users.list": Operation(f"{_USERS}/ListUsers", users_pb2.ListUsersRequest, users_pb2.ListUsersResponse),
    "users.create_batch": Operation(
        f"{_USERS}/CreateUserBatch", users_pb2.CreateUserBatchRequest, users_pb2.CreateUserBatchResponse
    ),
    "ledger.get_balance": Operation(
        f"{_LEDGER}/GetBalance", ledger_pb2.GetBalanceRequest, ledger_pb2.GetBalanceResponse
    ),
    "echo.echo": Operation(f"{_ECHO}/Echo", echo_pb2.EchoRequest, echo_pb2.EchoResponse),
    "echo.upper": Operation(f"{_ECHO}/Upper", echo_pb2.UpperRequest, echo_pb2.UpperResponse),
}

#: Those whose reply is a stream; the response is one item.
_STREAMS = {
    "ledger.stream_transactions": Operation(
        f"{_LEDGER}/StreamTransactions", ledger_pb2.StreamTransactionsRequest, ledger_pb2.StreamTransactionsResponse
    ),
}


def find_operation(name: str) -> Operation:
    """Return the operation of a name. Raises ClientError."""
    operation = _OPERATIONS.get(name)
    if operation is None:
        raise ClientError(f"no operation {name!r}", f"the contract has {', '.join(_OPERATIONS)}")
    return operation


def find_stream(name: str) -> Operation:
    """Return the operation of a name whose reply is a stream. Raises ClientError."""
    operation = _STREAMS.get(name)
    if operation is None:
        raise ClientError(f"no stream {name!r}", f"the contract has {', '.join(_STREAMS)}")
    return operation


def encode_json(fields: object) -> bytes:
    """Return fields as JSON. Raises ClientError if JSON can't say them."""
    try:
        return orjson.dumps(_json_of(fields))
    except TypeError as error:
        raise ClientError(f"can't be said in JSON: {error}", "correct the fields") from None


def decode_json(body: bytes) -> object:
    """Return JSON's value. Raises ValueError."""
    return orjson.loads(body)


def encode_message(operation: Operation, fields: Fields) -> bytes:
    """Return fields as the operation's request message. Raises ClientError if protobuf can't say them."""
    try:
        return json_format.ParseDict(_json_of(fields), operation.request()).SerializeToString()
    except (json_format.ParseError, UnicodeError) as error:
        name = operation.request.DESCRIPTOR.name
        raise ClientError(f"can't be said in protobuf as {name}: {error}", "correct the fields") from None


def decode_message(operation: Operation, body: bytes) -> tuple[str, object]:
    """Return message and data of a response message. Raises ValueError."""
    try:
        response = operation.response.FromString(body)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    reply = json_format.MessageToDict(response, preserving_proto_field_name=True)
    # An empty list is a list of no users; MessageToDict leaves it out.
    empty: object = [] if operation.response.DESCRIPTOR.fields_by_name["data"].is_repeated else None
    return reply.get("message", ""), data_of_json(reply.get("data", empty))


def data_of_json(value: Any) -> object:  # noqa: ANN401 - any JSON
    """Return a reply's `data` with bytes as bytes. Raises ValueError."""
    if isinstance(value, list):
        return [data_of_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _bytes_of(item) if name in _BYTES_FIELDS else item for name, item in value.items()}
    return value


def _bytes_of(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _json_of(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _json_of(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_of(item) for item in value]
    return value
