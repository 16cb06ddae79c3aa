"""Placeholders of application files: `{name}` stands for an input. wireload fills them in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{([a-z_][a-zA-Z0-9_]*)(?:\|[a-z]+)?\}")


def find_placeholders(template: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield the names of the inputs that a text, or any text in a list or a mapping, has placeholders of."""
    if isinstance(template, str):
        yield from _PLACEHOLDER.findall(template)
    elif isinstance(template, Mapping | list | tuple):
        for inner in template.values() if isinstance(template, Mapping) else template:
            yield from find_placeholders(inner)
