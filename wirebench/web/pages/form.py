"""The filters as a form whose answer is an address: what is shown can be sent to somebody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from wirebench.index import Choices
from wirebench.selection.parameters import is_date
from wirebench.stats.names import transport_name

#: Pairs of names and values, as an address has them.
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Option:
    """A level of a filter."""

    value: str
    text: str
    selected: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A filter: its name in addresses and on the page; several levels can be chosen where several were asked for."""

    name: str
    label: str
    options: tuple[Option, ...]
    multiple: bool

    @property
    def is_set(self) -> bool:
        """Whether any level is asked for."""
        return any(option.selected for option in self.options)


@dataclass(frozen=True, slots=True)
class Moment:
    """A field of a date; or of a date and a time in UTC, where that was asked for. `kind` is the input's type."""

    name: str
    label: str
    kind: Literal["date", "datetime-local"]
    value: str


def moment_fields(levels: Mapping[str, tuple[Any, ...]], texts: Mapping[str, str]) -> tuple[Moment, ...]:
    """Return the fields of the first and the last moment, which ask again for what was asked for."""
    return tuple(
        _moment_field(name, label, texts.get(name, ""), next(iter(levels[name]), None))
        for name, label in (("since", "From"), ("until", "To"))
    )


def _moment_field(name: str, label: str, text: str, moment: datetime | None) -> Moment:
    if moment is None or is_date(text):
        return Moment(name, label, "date", text)
    exact = "milliseconds" if moment.microsecond else "seconds"
    return Moment(name, f"{label}, UTC", "datetime-local", moment.replace(tzinfo=None).isoformat(timespec=exact))


def fields(levels: Mapping[str, tuple[Any, ...]], choices: Choices) -> tuple[Field, ...]:
    """Return the fields, each with the levels that the index has, and those that were asked for."""
    known: tuple[tuple[str, str, Sequence[Any]], ...] = (
        ("scenario", "Scenario", choices.scenarios),
        ("protocol", "Transport", choices.protocols),
        ("client", "Driver", choices.clients),
        ("operation", "Operation", choices.operations),
        ("concurrency", "Connections", choices.concurrencies),
        ("machine", "Machine", choices.machines),
        ("target", "Target", choices.targets),
    )
    return tuple(_field(name, label, levels[name], found) for name, label, found in known)


def _field(name: str, label: str, asked: Sequence[Any], found: Sequence[Any]) -> Field:
    options = dict.fromkeys((*found, *asked))  # what was asked for stays chosen where nothing has it
    return Field(
        name,
        label,
        tuple(Option(str(option), _shown(name, option), option in asked) for option in options),
        multiple=len(asked) > 1,
    )


def _shown(name: str, level: object) -> str:
    return transport_name({"transport": str(level)}) if name == "protocol" else str(level)


def address(path: str, pairs: Pairs, *without: str, **more: str) -> str:
    """Return the address of a path with these parameters, without some of them and with more."""
    kept = [(name, value) for name, value in pairs if name not in without and name not in more]
    query = urlencode([*kept, *more.items()])
    return f"{path}?{query}" if query else path
