"""Templates of requests and expectations: `{name}` stands for an input, `{name|upper}` for a form of it.

wireload renders them alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: What is sent of each request: text, numbers, lists and mappings, with placeholders in the text.
Template = Any
Values = Mapping[str, Any]

FILTERS: dict[str, Callable[[Any], Any]] = {
    "upper": lambda value: value.upper(),
    "lower": lambda value: value.lower(),
    "length": len,
}
_PLACEHOLDER = re.compile(r"\{([a-z_][a-zA-Z0-9_]*)(?:\|([a-z]+))?\}")


def render(template: Template, values: Values) -> Any:  # noqa: ANN401 - any JSON
    """Return what a template stands for: a placeholder alone keeps the type of its value, keys of None are left out."""
    if isinstance(template, str):
        if whole := _PLACEHOLDER.fullmatch(template):
            return _find_value(whole, values)
        return render_text(template, values)
    if isinstance(template, Mapping):
        rendered = {name: render(inner, values) for name, inner in template.items()}
        return {name: value for name, value in rendered.items() if value is not None}
    if isinstance(template, list | tuple):
        return [render(inner, values) for inner in template]
    return template


def render_text(template: str, values: Values, encode: Callable[[str], str] = str) -> str:
    return _PLACEHOLDER.sub(lambda match: encode(to_text(_find_value(match, values))), template)


def to_text(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return a value as it stands in a text: as JSON has it, but without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_placeholders(template: Template) -> Iterator[tuple[str, str | None]]:
    if isinstance(template, str):
        for match in _PLACEHOLDER.finditer(template):
            yield match[1], match[2]
    elif isinstance(template, Mapping | list | tuple):
        for inner in template.values() if isinstance(template, Mapping) else template:
            yield from find_placeholders(inner)


def _find_value(match: re.Match[str], values: Values) -> Any:  # noqa: ANN401 - any JSON
    value = values[match[1]]
    try:
        return FILTERS[match[2]](value) if match[2] else value
    except (AttributeError, TypeError):
        raise ValueError(f"{match[0]}: {value!r} has no form {match[2]!r}") from None
