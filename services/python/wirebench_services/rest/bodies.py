"""What Flask and Starlette share: the bodies of requests and replies, and the statuses of errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from google.protobuf.message import Message
from wirebench_proto.echo_pb2 import EchoResponse

from wirebench_services.application.errors import InvalidArgument, OperationError, describe_error
from wirebench_services.application.ledger import Transaction
from wirebench_services.application.users import Fields
from wirebench_services.contract import STREAM, Operation, read_fields
from wirebench_services.encoding import Value, from_json, parse_message, to_fields, to_json

Headers: TypeAlias = Any  # Werkzeug's or Starlette's
JSON, PROTOBUF = "application/json", "application/x-protobuf"
EVENT_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
#: Distinguishes the end of a stream from a failed connection.
END_EVENT = b"event: end\ndata: {}\n\n"
STATUSES = {
    "invalid_argument": 400, "not_found": 404, "already_exists": 409, "unavailable": 503, "unsupported_media_type": 415,
}  # fmt: skip
#: As many digits as the JSON reader accepts for an integer; longer numbers are out of every range.
_INTEGER = re.compile(r"-?[0-9]{1,20}")


def has_body(operation: Operation) -> bool:
    return operation.method in ("POST", "PUT")


def parse_integers(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a path or a query. Raises InvalidArgument."""
    for name, text in texts.items():
        if not _INTEGER.fullmatch(text):
            raise InvalidArgument(f"Field '{name}' must be an integer.")
    return {name: int(text) for name, text in texts.items()}


def parse_body(operation: Operation, headers: Headers, body: bytes, path: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a body and of its path. Raises OperationError."""
    media_type = (headers.get("Content-Type") or JSON).partition(";")[0].strip().lower()
    if media_type == JSON:
        fields = from_json(body)
        if operation.name == "users.create":  # in JSON the body is the user itself
            fields = {"user": fields}
    elif media_type == PROTOBUF:
        fields = read_fields(parse_message(operation.request, body))
    else:
        raise OperationError(f"Content-Type must be {JSON} or {PROTOBUF}.", "unsupported_media_type")
    return add_path(fields, path)


def add_path(fields: dict[str, Any], path: Mapping[str, str]) -> dict[str, Any]:
    """Add the fields of a path to those of a body or a query. Raises InvalidArgument."""
    for name, value in parse_integers(path).items():
        if fields.get(name) and fields[name] != value:
            raise InvalidArgument(f"Field '{name}' must be the one of the path.")
        fields[name] = value
    return fields


def encode_success(operation: Operation, value: Value, headers: Headers) -> tuple[bytes, str]:
    """Return the body of a reply that has the operation's value, and its media type."""
    envelope = {"success": True, "data": to_fields(value), "message": operation.message}
    return _encode(envelope, operation.response, headers)


def encode_failure(message: str, headers: Headers) -> tuple[bytes, str]:
    """Return the body of an error reply, and its media type."""
    # Every response message has these fields, at the same numbers.
    return _encode({"success": False, "data": None, "message": message}, EchoResponse, headers)


def _encode(envelope: Fields, response: type[Message], headers: Headers) -> tuple[bytes, str]:
    """Encode in the first supported media type that the client accepts, or else in that of its request."""
    accepted = (each.partition(";")[0].strip().lower() for each in headers.get("Accept", "").split(","))
    media_type = next((each for each in accepted if each in {JSON, PROTOBUF}), headers.get("Content-Type"))
    if media_type == PROTOBUF:
        return response(**envelope).SerializeToString(), PROTOBUF
    return to_json(envelope), JSON


def encode_events(transactions: Iterable[Transaction]) -> bytes:
    """Return an event for each transaction; events are JSON, whatever the client accepts."""
    return b"".join(b"id: %d\ndata: %b\n\n" % (each.id, to_json(to_fields(each))) for each in transactions)


def encode_error_event(error: Exception) -> tuple[bytes, str]:
    """Return the last event of a stream that fails, and the code by which the stream is counted."""
    described = describe_error(error, STREAM)
    return b"event: error\ndata: %b\n\n" % to_json({"message": described.message}), described.code
