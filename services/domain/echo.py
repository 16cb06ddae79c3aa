"""Echo: the least that a service can do with what it gets."""

from __future__ import annotations

from services.domain.errors import InvalidArgument


def echo(payload: object) -> bytes:
    """Return the payload. Raises InvalidArgument."""
    if payload in (None, b""):
        raise InvalidArgument("Missing required fields: payload.")
    if not isinstance(payload, bytes):
        raise InvalidArgument("Field 'payload' must be bytes.")
    return payload


def upper(text: object) -> str:
    """Return the text in upper case. Raises InvalidArgument."""
    if text in (None, ""):
        raise InvalidArgument("Missing required fields: text.")
    if not isinstance(text, str):
        raise InvalidArgument("Field 'text' must be a string.")
    return text.upper()
