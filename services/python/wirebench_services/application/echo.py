"""Echo: the least that a service can do with a request."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.users import Fields, check_names

T = TypeVar("T", bytes, str)


class Payload(NamedTuple):
    """The reply of Echo."""

    payload: bytes


class Text(NamedTuple):
    """The reply of Upper."""

    text: str


def echo(fields: Fields) -> Payload:
    return Payload(_parse(fields, "payload", bytes, "bytes"))


def upper(fields: Fields) -> Text:
    return Text(_parse(fields, "text", str, "a string").upper())


def _parse(fields: Fields, name: str, kind: type[T], description: str) -> T:
    check_names(fields, name)
    value = fields.get(name)
    if value in (None, kind()):
        raise InvalidArgument(f"Missing required fields: {name}.")
    if not isinstance(value, kind):
        raise InvalidArgument(f"Field '{name}' must be {description}.")
    return value
