"""What is wrong in a scenario file, in one line: where, and what."""

from __future__ import annotations

import difflib

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from wirebench.findings import in_words
from wirebench.model.source import FieldPath, Source
from wirebench.scenario.model import EVERY_TRANSPORT, Factors, Load, Network, Scenario

_SECTIONS: dict[str, type[BaseModel]] = {"": Scenario, "factors": Factors, "factors.network": Network, "load": Load}


def describe(source: Source, mistake: ErrorDetails) -> str:
    """Say in one line where a mistake is, what is wrong, and what is there."""
    field = tuple(part for part in mistake["loc"] if part != EVERY_TRANSPORT)
    if mistake["type"] == "extra_forbidden":
        return f"{source.where(field)}: no such key{_suggest(field)}"
    return f"{source.where(field)}: {in_words(mistake)}"


def _suggest(field: FieldPath) -> str:
    model = _SECTIONS.get(".".join(map(str, field[:-1])))
    if model is None:
        return ""
    close = difflib.get_close_matches(str(field[-1]), model.model_fields, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; the keys are {', '.join(model.model_fields)}"
