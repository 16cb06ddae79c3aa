"""The two encodings of bodies: JSON, and protobuf."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from google.protobuf.message import DecodeError
from wirebench_proto.echo_pb2 import EchoResponse

from services.domain.errors import InvalidArgument
from services.operations.operation import Fields, Operation


class Codec(Protocol):
    """Turns a request's body into fields, and an operation's value into a reply's body."""

    def decode(self, operation: Operation, body: bytes) -> Fields:
        """Return the fields of a body. Raises InvalidArgument."""

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401 - what `call` returned
        """Return the body that holds the value."""


class JsonCodec:
    """The JSON mapping of the proto messages, with the proto's field names; replies are the bare `data`."""

    def __init__(self, body_fields: Mapping[str, str] | None = None) -> None:
        """Take the operations whose body is not the request message but one field of it."""
        self._body_fields = body_fields or {}

    def decode(self, operation: Operation, body: bytes) -> Fields:
        """Return the fields of a JSON object; an empty body is an object without fields."""
        if not body:
            return operation.fields_of_json({})
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise InvalidArgument(f"The body is not valid JSON: {error}.") from None
        if type(value) is not dict:
            raise InvalidArgument("The body must be a JSON object.")
        field = self._body_fields.get(operation.name)
        return operation.fields_of_json({field: value} if field else value)

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401
        """Return the JSON of the reply's `data`."""
        return orjson.dumps(operation.json_of_value(value))


class JsonEnvelopeCodec(JsonCodec):
    """As JSON, but with `success` and `message` in the body, for wires whose framing doesn't carry them."""

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401
        """Return the JSON of the whole reply."""
        data = operation.json_of_value(value)
        return orjson.dumps({"success": True, "data": data, "message": operation.message})

    def encode_failure(self, message: str) -> bytes:
        """Return the JSON of a reply that says what went wrong."""
        return orjson.dumps({"success": False, "data": None, "message": message})


class ProtobufCodec:
    """The request messages, and the response messages with only `data` set."""

    def decode(self, operation: Operation, body: bytes) -> Fields:
        """Return the fields of a request message; unknown ones are ignored, as protobuf does."""
        try:
            message = operation.request.FromString(body)
        except DecodeError:
            raise InvalidArgument(f"The body is not a valid {operation.request.DESCRIPTOR.name}.") from None
        return operation.fields_of_message(message)

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401
        """Return the response message with only `data` set."""
        response = operation.response()
        operation.fill_message(response, value)
        return response.SerializeToString()


class ProtobufEnvelopeCodec(ProtobufCodec):
    """As protobuf, but with `success` and `message` set, for wires whose framing doesn't carry them."""

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401
        """Return the whole response message."""
        response: Any = operation.response()
        response.success = True
        response.message = operation.message
        operation.fill_message(response, value)
        serialized: bytes = response.SerializeToString()
        return serialized

    def encode_failure(self, message: str) -> bytes:
        """Return a reply that says what went wrong; every response message has `message` at the same number."""
        return EchoResponse(success=False, message=message).SerializeToString()


def bytes_of_json(name: str, value: object) -> object:
    """Decode base64 text; leave other types to validation. Raises InvalidArgument."""
    if not isinstance(value, str):
        if isinstance(value, bytes) or value is None:
            return value
        raise InvalidArgument(f"Field '{name}' must be base64 text.")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgument(f"Field '{name}' must be base64 text.") from None


def json_of_bytes(value: bytes) -> str:
    """Encode bytes as base64 text."""
    return base64.b64encode(value).decode("ascii")


def only(fields: Fields, *names: str) -> Fields:
    """Return the fields that are given, and null isn't, if there are none but these names. Raises InvalidArgument."""
    for name in fields:  # by far most often there is one, and it is known
        if name not in names:
            unknown = [each for each in fields if each not in names]
            raise InvalidArgument(f"Unknown fields: {', '.join(unknown)}.")
    return {name: value for name, value in fields.items() if value is not None}
