"""Queries of results and runs: the same words in the API, in the addresses of pages and on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from wirebench.errors import UsageError
from wirebench.model.contract import Driver, TargetName, Transport
from wirebench.model.frozen import FrozenModel
from wirebench.model.validation_messages import describe_error
from wirebench.model.variant import CONNECTIONS_MAX

_Level = TypeVar("_Level")


class ParameterError(UsageError):
    """A parameter that isn't known, or isn't what it has to be."""

    def __init__(self, parameter: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{parameter}: {reason}", hint)
        self.parameter = parameter


class Query(FrozenModel):
    """Parameters. Unknown ones are errors; empty ones are ignored, because forms send them for empty fields."""

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Read names and texts, several with one name where that has several levels. Raises ParameterError."""
        texts: dict[str, list[str]] = {}
        for name, text in pairs:
            if not (name + text).isprintable() or "\N{REPLACEMENT CHARACTER}" in text:
                shown = name if name.isprintable() else "?"
                raise ParameterError(shown, "has characters that can't be printed", "send text in UTF-8")
            if text or name not in cls.model_fields:
                texts.setdefault(name, []).append(text)
        try:
            return cls.model_validate(texts)
        except ValidationError as error:
            first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise ParameterError(name[:40], "there is no such parameter", _list_known(name, cls.model_fields))
        raise ParameterError(name, describe_error(first), f"correct {name}, or leave it out") from None


def _list_known(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name[:40], known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}known are {', '.join(known)}" if known else "this address takes none"


def _take_one(texts: object) -> object:
    if isinstance(texts, list) and len(texts) > 1:
        raise ValueError("given more than once")
    return texts[0] if isinstance(texts, list) else texts


def _split(texts: object) -> object:
    return [level for text in texts for level in text.split(",") if level] if isinstance(texts, list) else texts


#: Parameters that are given once at most: one that has to be there, and one that needn't.
One = BeforeValidator(_take_one)
Single = Annotated[_Level | SkipJsonSchema[None], One]
#: A parameter that can be repeated, or hold several levels with commas between.
Levels = Annotated[tuple[_Level, ...], BeforeValidator(_split)]


class Filters(Query):
    """What rows must be like: each filter that is set holds, with any of its levels.

    Filters of cells find the runs that have such a cell.
    """

    target: Levels[TargetName] = Field((), description="Targets.")
    run_id: Levels[str] = Field((), description="Names of runs.")
    scenario: Levels[str] = Field((), description="Names of scenarios.")
    transport: Levels[Transport] = Field((), description="Transports.")
    protocol: Levels[Transport] = Field((), description="Alias of transport.")
    variant: Levels[str] = Field((), description="Variants of your own services.")
    driver: Levels[Driver] = Field((), description="Drivers.")
    client: Levels[Driver] = Field((), description="Alias of driver.")
    concurrency: Levels[Annotated[int, Field(ge=1, le=CONNECTIONS_MAX)]] = Field(
        (), description=f"Connections at a time, from 1 to {CONNECTIONS_MAX:,}."
    )
    operation: Levels[str] = Field((), description="Operations, such as users.get.")

    @property
    def transports(self) -> tuple[str, ...]:
        return self.transport + self.protocol

    @property
    def drivers(self) -> tuple[str, ...]:
        return self.driver + self.client
