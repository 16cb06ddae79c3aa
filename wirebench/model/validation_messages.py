"""Messages for pydantic's errors that need no knowledge of pydantic."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from wirebench.errors import suggest

#: Errors without a value to show, or whose words have it.
_WORDS = {"missing": "is missing", "extra_forbidden": "no such key", "value_error": "{error}"}


def describe_error(error: ErrorDetails) -> str:
    """Describe what is wrong, and what is there, if that is short: `must be a valid integer (it is 'x')`."""
    words, given = _WORDS.get(error["type"]), error["input"]
    if words:
        return words.format_map(error.get("ctx", {}))
    said = re.sub(r"^\w+ should ", "must ", error["msg"])  # Input should be greater than or equal to 1
    said = re.sub(r"valid dictionary( or instance of \w+)?", "mapping of keys", said)
    said = said.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if error["type"] == "json_invalid" or not isinstance(given, str | int | float | None):
        return said
    return f"{said} (it is {'nothing' if given is None else reprlib.repr(given)})"


def describe_mistake(error: ErrorDetails, sections: Mapping[str, type[BaseModel]]) -> str:
    """Describe what is wrong in a file, with the keys that there are; `sections` are its parts by where they stand."""
    *section, key = map(str, error["loc"])
    model = sections.get(".".join(section)) or sections.get(".".join((*section[:1], "*", *section[2:])))
    if error["type"] != "extra_forbidden" or model is None:
        return describe_error(error)
    return f"{describe_error(error)}: {suggest(key, list_keys(model))}"


def list_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys that a file may have."""
    return [field.alias or name for name, field in model.model_fields.items() if not field.exclude]


def describe_first(error: ValidationError) -> str:
    """Describe the first error, after the field that it is about."""
    first = error.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), describe_error(first))))
