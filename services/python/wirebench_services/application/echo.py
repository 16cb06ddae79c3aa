"""Echo: the least that a service can do with a request."""

from __future__ import annotations

from typing import NamedTuple

from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.users import Fields, check_names


class Payload(NamedTuple):
    """The reply of Echo."""

    payload: bytes


class Text(NamedTuple):
    """The reply of Upper."""

    text: str


def echo(fields: Fields) -> Payload:
    """Return the payload. Raises InvalidArgument."""
    check_names(fields, "payload")
    payload = fields.get("payload")
    if payload in (None, b""):
        raise InvalidArgument("Missing required fields: payload.")
    if not isinstance(payload, bytes):
        raise InvalidArgument("Field 'payload' must be bytes.")
    return Payload(payload)


def upper(fields: Fields) -> Text:
    """Return the text in upper case. Raises InvalidArgument."""
    check_names(fields, "text")
    text = fields.get("text")
    if text in (None, ""):
        raise InvalidArgument("Missing required fields: text.")
    if not isinstance(text, str):
        raise InvalidArgument("Field 'text' must be a string.")
    return Text(text.upper())
