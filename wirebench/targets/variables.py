"""Environment variables that an application file names, whose values are never written anywhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator

from wirebench.model.application import Application, Request, find_headers
from wirebench.model.source import FieldPath
from wirebench.model.variant import VARIABLE

#: Shorter values are no secrets, and stand in many a text.
_HIDDEN_CHARACTERS_MIN = 4


def find_variables(
    application: Application, variants: Collection[str], operations: Collection[str]
) -> Iterator[tuple[str, FieldPath]]:
    """Yield the environment variables that these variants and operations name, each with where it stands."""
    sections: dict[FieldPath, dict[str, str]] = {}
    for name in variants:
        for key in ("headers", "environment"):
            sections["variants", name, key] = getattr(application.variants[name], key)
    for name in operations:
        operation = application.operations[name]
        requests: dict[FieldPath, Request | None] = {("rest",): operation.rest, ("grpc",): operation.grpc}
        requests |= {("variants", each): own for each, own in operation.variants.items() if each in variants}
        for field, request in requests.items():
            key, sections["operations", name, *field, key] = find_headers(request)
    for field, texts in sections.items():
        for key, text in texts.items():
            yield from ((variable, (*field, key)) for variable in VARIABLE.findall(text))


def expand(text: str) -> str:
    """Return a text with the values in place of the names. Raises KeyError for one that isn't set."""
    return VARIABLE.sub(lambda match: os.environ[match[1]], text)


def redact(text: str, names: Iterable[str]) -> str:
    """Return a text with the names in place of the values, wherever these have come from: a service may repeat them."""
    values = {os.environ.get(name, ""): name for name in names}
    for value in sorted((each for each in values if len(each) >= _HIDDEN_CHARACTERS_MIN), key=len, reverse=True):
        text = text.replace(value, f"${{{values[value]}}}")
    return text
