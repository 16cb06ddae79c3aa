"""Placeholders of application files: `{name}` for an input, `${NAME}` for a variable of the environment.

wireload fills in the inputs; values of variables are never written anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Shorter values are no secrets, and stand in many a text.
_HIDDEN_CHARACTERS_MIN = 4
#: What has two braces is text.
_INPUT = re.compile(r"\{\{[a-z_][a-zA-Z0-9_]*\}\}|\{([a-z_][a-zA-Z0-9_]*)(?:\|[a-z]+)?\}")
_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


def find_placeholders(template: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield the names of the inputs that a text, or any text in a list or a mapping, has placeholders of."""
    if isinstance(template, str):
        yield from filter(None, _INPUT.findall(template))
    elif isinstance(template, Mapping | list | tuple):
        for inner in template.values() if isinstance(template, Mapping) else template:
            yield from find_placeholders(inner)


def find_variables(text: str) -> Iterator[str]:
    yield from _VARIABLE.findall(text)


def expand(text: str) -> str:
    """Return a text with the values in place of the names. Raises KeyError for one that isn't set."""
    return _VARIABLE.sub(lambda match: os.environ[match[1]], text)


def redact(text: str, names: Iterable[str]) -> str:
    """Return a text with the names in place of the values, wherever these have come from: a service may repeat them."""
    values = {os.environ.get(name, ""): name for name in names}
    for value in sorted((each for each in values if len(each) >= _HIDDEN_CHARACTERS_MIN), key=len, reverse=True):
        text = text.replace(value, f"${{{values[value]}}}")
    return text
