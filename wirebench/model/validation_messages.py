"""Messages for pydantic's errors that need no knowledge of pydantic."""

from __future__ import annotations

import reprlib
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

#: The words for each kind of error; what is in braces comes with the error.
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "no such key",
    "literal_error": "must be one of {expected}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must be {max_length} characters at most",
    "greater_than": "must be over {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be under {lt}",
    "less_than_equal": "must be at most {le}",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "json_invalid": "not valid JSON: {error}",
    "value_error": "{error}",
}
#: Errors that a value is not shown with: there is none, it is a whole file, or the words have it.
_WITHOUT_VALUE = ("missing", "extra_forbidden", "json_invalid", "value_error")


def describe_error(error: ErrorDetails) -> str:
    """Describe what is wrong, and what is there, if that is short: `must be a whole number (it is 'x')`."""
    known = _WORDS.get(error["type"])
    words = known.format_map(_read_context(error)) if known else error["msg"]
    given = error["input"]
    if error["type"] in _WITHOUT_VALUE or not isinstance(given, str | int | float | None):
        return words
    return f"{words} (it is {'nothing' if given is None else reprlib.repr(given)})"


def describe_first(error: ValidationError) -> str:
    """Describe the first error, after the field that it is about."""
    first = error.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), describe_error(first))))


def _read_context(error: ErrorDetails) -> dict[str, Any]:
    context = dict(error.get("ctx", {}))
    if "expected" in context:
        context["expected"] = context["expected"].replace("' or '", "', '").replace("'", "")
    return context
