"""Parameters of a query: what each may be, read strictly. What isn't understood is refused, never passed over."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from wirebench.errors import UsageError

#: How many levels one filter may have, and how long one may be.
LEVELS_MAX = 100
CHARACTERS_MAX = 200

_WHOLE = re.compile(r"[0-9]{1,10}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: Those of RFC 3339, whose seconds and offset may be left out. ISO 8601 has more, some of them dates without a time.
_DATE_AND_TIME = re.compile(
    rf"({_DATE.pattern})[T ]([0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]+)?)?)(Z|[-+ ][0-9]{{2}}:[0-9]{{2}})?"
)


class ParameterError(UsageError):
    """A parameter that isn't known, or isn't what it has to be."""

    def __init__(self, parameter: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{parameter}: {reason}", hint)
        self.parameter = parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. `parse` takes one level, and raises ValueError with the reason; `schema` describes one level.

    One with `several` levels can be repeated, and holds with any of them; those that are `separated` are so by commas.
    An empty text is none: forms send it for a field that nobody has filled in.
    """

    name: str
    description: str
    parse: Callable[[str], Any]
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string", "maxLength": CHARACTERS_MAX})
    several: bool = False
    separated: bool = False
    required: bool = False
    characters_max: int = CHARACTERS_MAX


def read(pairs: Iterable[tuple[str, str]], parameters: Sequence[Parameter]) -> dict[str, tuple[Any, ...]]:
    """Return the levels of each parameter, none twice. Raises ParameterError."""
    known = {parameter.name: parameter for parameter in parameters}
    texts: dict[str, list[str]] = {name: [] for name in known}
    for name, value in pairs:
        if name not in known:
            raise _unknown(name, known)
        texts[name] += value.split(",") if known[name].separated else [value]
    return {name: _levels(known[name], [text for text in given if text]) for name, given in texts.items()}


def _levels(parameter: Parameter, texts: Sequence[str]) -> tuple[Any, ...]:
    if len(texts) > 1 and not parameter.several:
        raise ParameterError(parameter.name, "given more than once", "give it once")
    if len(texts) > LEVELS_MAX:
        raise ParameterError(parameter.name, f"{len(texts)} levels are too many", f"at most {LEVELS_MAX}")
    if parameter.required and not texts:
        raise ParameterError(parameter.name, "is missing", parameter.description)
    levels: dict[Any, None] = {}
    for text in texts:
        try:
            levels[_parsed(parameter, text)] = None
        except ValueError as error:
            raise ParameterError(parameter.name, str(error), parameter.description) from None
    return tuple(levels)


def _parsed(parameter: Parameter, text: str) -> object:
    if len(text) > parameter.characters_max:
        raise ValueError(f"longer than {parameter.characters_max} characters")
    if not text.isprintable() or "\N{REPLACEMENT CHARACTER}" in text:
        raise ValueError("has characters that can't be printed")
    return parameter.parse(text)


def _unknown(name: str, known: Collection[str]) -> ParameterError:
    shown = name[:40] if name.isprintable() else "?"
    close = difflib.get_close_matches(name[:40], known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    hint = f"{guess}known are {', '.join(known)}" if known else "this address takes none"
    return ParameterError(shown, "there is no such parameter", hint)


def text(value: str) -> str:
    """Take any text."""
    return value


def one_of(*levels: str) -> Callable[[str], str]:
    """Return what takes these texts only."""

    def parse(value: str) -> str:
        if value not in levels:
            raise ValueError(f"{value!r} is none of {', '.join(levels)}")
        return value

    return parse


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return what takes whole numbers in this range."""

    def parse(value: str) -> int:
        if not _WHOLE.fullmatch(value) or not least <= int(value) <= most:
            raise ValueError(f"{value!r} is no whole number from {least:,} to {most:,}")
        return int(value)

    return parse


def is_date(value: str) -> bool:
    """Whether a text is written as a date, without a time."""
    return bool(_DATE.fullmatch(value))


def moment(*, end_of_day: bool = False) -> Callable[[str], datetime]:
    """Return what takes a date, or a date and time; a date is its first moment, or the last, in UTC."""

    def parse(value: str) -> datetime:
        try:
            if is_date(value):
                first = datetime.combine(date.fromisoformat(value), time(), UTC)
                return first + timedelta(days=1, microseconds=-1) if end_of_day else first
            return _date_and_time(value)
        except (ValueError, OverflowError):
            raise ValueError(f"{value!r} is no date or time such as 2026-11-21 or 2026-11-21T10:15:00Z") from None

    return parse


def _date_and_time(value: str) -> datetime:
    """Raise ValueError, or OverflowError: the year 1 has no time before it for an offset to lead to."""
    written = _DATE_AND_TIME.fullmatch(value)
    if not written:
        raise ValueError("neither a date nor a time")
    day, clock, offset = written.groups("Z")
    # A + stands for a space in an address, unless it is written as %2B: before an offset it can only have been one.
    return datetime.fromisoformat(f"{day}T{clock}{offset.replace(' ', '+')}").astimezone(UTC)
