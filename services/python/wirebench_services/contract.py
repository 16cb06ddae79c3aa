"""The operations of the contract, for servers and clients: their names, messages and fields."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from wirebench_proto import echo_pb2, ledger_pb2, users_pb2

#: A message of a class that is found at run time.
AnyMessage = Any
#: The fields of a reply that are set, or a list of them; bytes are bytes.
Data = Any
STREAM = "ledger.stream_transactions"
#: The longest request body.
BODY_BYTES_MAX = 4 * 1024 * 1024
#: What a reply's HTTP status means: its code is the lower-case name of gRPC's status.
CODES = {
    200: "ok", 201: "ok", 400: "invalid_argument", 404: "not_found", 405: "unimplemented", 409: "already_exists",
    413: "resource_exhausted", 415: "invalid_argument", 500: "internal", 503: "unavailable",
}  # fmt: skip
#: Of the socket: the encoding of bodies, by the bytes that a client sends first.
PREFACES = {b"WB1J": "json", b"WB1P": "protobuf"}
#: Its status in a reply, by the code of the outcome: the numbers of gRPC.
STATUSES = {
    "ok": 0, "invalid_argument": 3, "not_found": 5, "already_exists": 6, "resource_exhausted": 8, "unimplemented": 12,
    "internal": 13, "unavailable": 14,
}  # fmt: skip
#: Its headers.
REQUEST = struct.Struct(">IIB")  # length, id, method_length
REPLY = struct.Struct(">IIBH")  # length, id, status, message_length
LENGTH_BYTES = 4  # the length doesn't count itself
_SERVICES = {
    "users": ("UserService", users_pb2), "ledger": ("LedgerService", ledger_pb2), "echo": ("EchoService", echo_pb2),
}  # fmt: skip


class Operation(NamedTuple):
    """Where an operation is on each transport, and what a successful reply says. Its name is the socket's method."""

    name: str
    #: Of REST: the method, the path, and the status of a successful reply.
    method: str
    path: str
    status: int
    #: Of gRPC.
    service: str
    rpc: str
    request: type[AnyMessage]
    response: type[AnyMessage]
    message: str


def _declare(name: str, route: str, rpc: str, message: str = "", status: int = 200) -> Operation:
    method, path = route.split()
    service, file = _SERVICES[name.partition(".")[0]]
    request, response = getattr(file, f"{rpc}Request"), getattr(file, f"{rpc}Response")
    return Operation(name, method, path, status, service, rpc, request, response, message)


OPERATIONS = {
    each.name: each
    for each in (
        _declare("users.create", "POST /api/users", "CreateUser", "User created successfully", 201),
        _declare("users.get", "GET /api/users/{id}", "GetUser", "User retrieved successfully"),
        _declare("users.update", "PUT /api/users/{id}", "UpdateUser", "User updated successfully"),
        _declare("users.delete", "DELETE /api/users/{id}", "DeleteUser", "User deleted successfully"),
        _declare("users.list", "GET /api/users", "ListUsers", "Users retrieved successfully"),
        _declare("users.create_batch", "POST /api/users/batch", "CreateUserBatch", "Users created successfully", 201),
        _declare(
            "ledger.get_balance", "GET /accounts/{account_id}/balance", "GetBalance", "Balance retrieved successfully"
        ),
        _declare(STREAM, "GET /transactions/stream", "StreamTransactions"),
        _declare("echo.echo", "POST /echo", "Echo", "Payload echoed successfully"),
        _declare("echo.upper", "POST /upper", "Upper", "Text upper-cased successfully"),
    )
}


def read_fields(message: Message) -> dict[str, Any]:
    """Return the fields that are set in a message by their names, without those at proto3's zero values."""
    return {field.name: _read_value(value) for field, value in message.ListFields()}


def _read_value(value: Any) -> Any:  # noqa: ANN401 - of any type
    if isinstance(value, Message):
        return read_fields(value)
    return value if isinstance(value, str | bytes | int) else [_read_value(item) for item in value]


def to_json(request: Message) -> dict[str, Any]:
    """Return the fields that are set as JSON has them: bytes are base64."""
    return json_format.MessageToDict(request, preserving_proto_field_name=True)


def parse_response(operation: Operation, response: bytes | dict[str, Any]) -> AnyMessage:
    """Return a response from protobuf or from JSON. Raises ValueError."""
    try:
        if isinstance(response, bytes):
            return operation.response.FromString(response)
        return json_format.ParseDict(response, operation.response())
    except (DecodeError, json_format.ParseError) as error:
        raise ValueError(str(error)) from None


def read_data(response: Message) -> Data:
    """Return the `data` of a response."""
    is_list = response.DESCRIPTOR.fields_by_name["data"].is_repeated
    return read_fields(response).get("data", [] if is_list else None)
