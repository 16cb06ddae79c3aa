"""Echo: the least that a service can do with a request."""

from __future__ import annotations

from typing import Any

from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.users import Fields, check_names


def echo(fields: Fields) -> dict[str, Any]:
    return {"payload": _parse(fields, "payload", bytes, "bytes")}


def upper(fields: Fields) -> dict[str, Any]:
    return {"text": _parse(fields, "text", str, "a string").upper()}


def _parse(fields: Fields, name: str, kind: type, description: str) -> Any:  # noqa: ANN401 - of that type
    check_names(fields, name)
    value = fields.get(name)
    if value in (None, kind()):
        raise InvalidArgument(f"Missing required fields: {name}.")
    if not isinstance(value, kind):
        raise InvalidArgument(f"Field '{name}' must be {description}.")
    return value
