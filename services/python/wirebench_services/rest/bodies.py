"""What Flask and Starlette share: the bodies of requests and replies, and the statuses of errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from wirebench_proto.echo_pb2 import EchoResponse

from wirebench_services.application.errors import InvalidArgument, OperationError
from wirebench_services.application.ledger import Transaction
from wirebench_services.application.users import Fields
from wirebench_services.encoding import OPERATIONS, Value, from_json, from_message, parse_message, to_fields, to_json

if TYPE_CHECKING:
    import starlette.datastructures
    import werkzeug.datastructures

    Headers: TypeAlias = werkzeug.datastructures.Headers | starlette.datastructures.Headers

JSON, PROTOBUF = "application/json", "application/x-protobuf"
EVENT_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
#: By this event a client tells the end of a stream from a connection that failed.
END_EVENT = b"event: end\ndata: {}\n\n"
STATUSES = {
    "invalid_argument": 400, "not_found": 404, "already_exists": 409, "unavailable": 503, "unsupported_media_type": 415,
}  # fmt: skip
#: The metrics' label of a reply.
CODES = {
    200: "ok", 201: "ok", 400: "invalid_argument", 404: "not_found", 405: "unimplemented", 409: "already_exists",
    413: "resource_exhausted", 415: "invalid_argument", 500: "internal", 503: "unavailable",
}  # fmt: skip
#: As many digits as the JSON reader accepts for an integer; longer numbers are out of every range.
_INTEGER = re.compile(r"-?[0-9]{1,20}")


class UnsupportedMediaTypeError(OperationError):
    """A body that is neither JSON nor protobuf."""

    code = "unsupported_media_type"


def parse_number(name: str, text: str) -> int:
    """Return the integer in a path or a query. Raises InvalidArgument."""
    if not _INTEGER.fullmatch(text):
        raise InvalidArgument(f"Field '{name}' must be an integer.")
    return int(text)


def parse_query(query: Mapping[str, str], path: Mapping[str, str]) -> dict[str, int]:
    """Return the fields in the query and the path, which are integers. Raises InvalidArgument."""
    return {name: parse_number(name, text) for fields in (query, path) for name, text in fields.items()}


def merge_path(fields: Fields, name: str, text: str) -> dict[str, Any]:
    """Return the fields of a body with the one in the path. Raises InvalidArgument if they differ."""
    value = parse_number(name, text)
    if fields.get(name) and fields[name] != value:
        raise InvalidArgument(f"Field '{name}' must be the one of the path.")
    return {**fields, name: value}


def parse_body(operation: str, headers: Headers, body: bytes) -> dict[str, Any]:
    """Return the fields of a request's body. Raises InvalidArgument, UnsupportedMediaTypeError."""
    media_type = (headers.get("Content-Type") or JSON).partition(";")[0].strip().lower()
    if media_type == JSON:
        return from_json(body)
    if media_type != PROTOBUF:
        raise UnsupportedMediaTypeError(f"Content-Type must be {JSON} or {PROTOBUF}.")
    fields = from_message(parse_message(OPERATIONS[operation].request, body))
    # In JSON the body is the user itself.
    return fields.get("user", {}) if operation == "users.create" else fields


def encode_success(operation: str, value: Value, headers: Headers) -> tuple[bytes, str]:
    """Return the body of a reply that has the operation's value, and its media type."""
    media_type = choose_media_type(headers)
    _, response, message = OPERATIONS[operation]
    fields = {"success": True, "data": to_fields(value), "message": message}
    return to_json(fields) if media_type == JSON else response(**fields).SerializeToString(), media_type


def encode_failure(message: str, headers: Headers) -> tuple[bytes, str]:
    """Return the body of a reply that says what failed, and its media type."""
    media_type = choose_media_type(headers)
    if media_type == JSON:
        return to_json({"success": False, "data": None, "message": message}), media_type
    # Every response message has these two fields, at the same numbers.
    return EchoResponse(success=False, message=message).SerializeToString(), media_type


def choose_media_type(headers: Headers) -> str:
    """Return the first media type that the client accepts and we have, or else that of its request."""
    for wanted in (headers.get("Accept") or "").split(","):
        if (media_type := wanted.partition(";")[0].strip().lower()) in {JSON, PROTOBUF}:
            return media_type
    return PROTOBUF if headers.get("Content-Type") == PROTOBUF else JSON


def encode_events(transactions: Iterable[Transaction]) -> bytes:
    """Return an event for each transaction; events are JSON, whatever the client accepts."""
    return b"".join(b"id: %d\ndata: %b\n\n" % (each.id, to_json(to_fields(each))) for each in transactions)


def encode_error_event(error: OperationError) -> bytes:
    return b"event: error\ndata: %b\n\n" % to_json({"message": error.message})
