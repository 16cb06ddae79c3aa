"""The encodings of requests and replies: JSON and protobuf, both as fields by their names in the proto files."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias, TypeVar

import orjson
from google.protobuf.message import DecodeError, Message

from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User

#: What operations return.
Value: TypeAlias = User | list[User] | Balance | Transaction | dict[str, Any]
M = TypeVar("M", bound=Message)


def to_fields(value: Value) -> Any:  # noqa: ANN401 - fields, or a list of them
    """Return the fields of an operation's value, with bytes as bytes."""
    if isinstance(value, User):
        return value.as_fields()
    if isinstance(value, list):
        return [user.as_fields() for user in value]
    return value if isinstance(value, dict) else value._asdict()


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


def parse_message(kind: type[M], body: bytes) -> M:
    """Decode a protobuf message; unknown fields are ignored. Raises InvalidArgument."""
    try:
        return kind.FromString(body)
    except DecodeError:
        raise InvalidArgument(f"The body is not a valid {kind.DESCRIPTOR.name}.") from None


def _decode_bytes(fields: dict[str, Any]) -> None:
    for name in ("avatar", "payload"):
        if fields.get(name) is not None:
            try:
                fields[name] = base64.b64decode(fields[name], validate=True)
            except (TypeError, ValueError):
                raise InvalidArgument(f"Field '{name}' must be base64 text.") from None
