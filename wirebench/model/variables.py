"""Variables of the environment in an application file: `${NAME}`. Their values are never written anywhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

#: Shorter values are no secrets, and stand in many a text.
_HIDDEN_CHARACTERS_MIN = 4
_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


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
