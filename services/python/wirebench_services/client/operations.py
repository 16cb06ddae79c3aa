"""The operations of the contract, and the way between messages, fields and JSON."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2
from wirebench_proto.echo_pb2_grpc import EchoServiceStub
from wirebench_proto.ledger_pb2_grpc import LedgerServiceStub
from wirebench_proto.users_pb2_grpc import UserServiceStub

#: The fields of a reply that are set, or a list of them; bytes are bytes.
Data: TypeAlias = Any
#: A message of a class that is found at run time.
AnyMessage: TypeAlias = Any


class Operation(NamedTuple):
    """Where an operation is: its name is the socket's method."""

    name: str
    route: str
    messages: ModuleType
    stub: Callable[[grpc.Channel], Any]
    rpc: str
    #: The field that is REST's body; empty: all that are not in the path.
    body: str = ""

    @property
    def request(self) -> type[AnyMessage]:
        return getattr(self.messages, f"{self.rpc}Request")  # type: ignore[no-any-return]

    def parse(self, response: bytes | dict[str, Any]) -> AnyMessage:
        """Return a response from protobuf or from JSON. Raises ValueError."""
        kind: type[Message] = getattr(self.messages, f"{self.rpc}Response")
        try:
            if isinstance(response, bytes):
                return kind.FromString(response)
            return json_format.ParseDict(response, kind())
        except (DecodeError, json_format.ParseError) as error:
            raise ValueError(str(error)) from None


_USERS, _LEDGER, _ECHO = (users_pb2, UserServiceStub), (ledger_pb2, LedgerServiceStub), (echo_pb2, EchoServiceStub)
OPERATIONS = {
    each.name: each
    for each in (
        Operation("users.create", "POST /api/users", *_USERS, "CreateUser", "user"),
        Operation("users.get", "GET /api/users/{id}", *_USERS, "GetUser"),
        Operation("users.update", "PUT /api/users/{id}", *_USERS, "UpdateUser"),
        Operation("users.delete", "DELETE /api/users/{id}", *_USERS, "DeleteUser"),
        Operation("users.list", "GET /api/users", *_USERS, "ListUsers"),
        Operation("users.create_batch", "POST /api/users/batch", *_USERS, "CreateUserBatch"),
        Operation("ledger.get_balance", "GET /accounts/{account_id}/balance", *_LEDGER, "GetBalance"),
        Operation("ledger.stream_transactions", "GET /transactions/stream", *_LEDGER, "StreamTransactions"),
        Operation("echo.echo", "POST /echo", *_ECHO, "Echo"),
        Operation("echo.upper", "POST /upper", *_ECHO, "Upper"),
    )
}


def to_json(request: Message) -> dict[str, Any]:
    """Return the fields that are set as JSON has them: bytes are base64."""
    return json_format.MessageToDict(request, preserving_proto_field_name=True)


def read_data(response: Message) -> Data:
    """Return the `data` of a response."""
    is_list = response.DESCRIPTOR.fields_by_name["data"].is_repeated
    return _to_fields(response).get("data", [] if is_list else None)


def _to_fields(value: Data) -> Data:
    if isinstance(value, Message):
        return {field.name: _to_fields(inner) for field, inner in value.ListFields()}
    return value if isinstance(value, str | bytes | int) else [_to_fields(item) for item in value]
