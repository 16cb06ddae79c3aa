"""The filters as a form whose answer is an address, so that a view can be shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from wirebench.model.labels import name_transport
from wirebench.store.query import Filters
from wirebench.store.select import Choices

#: Pairs of names and values, as an address has them.
Pairs = Sequence[tuple[str, str]]

#: Filters that can be chosen from; two of them have an alias.
_LABELS = {
    "scenario": "Scenario",
    "transports": "Transport",
    "variant": "Variant",
    "drivers": "Driver",
    "operation": "Operation",
    "concurrency": "Connections",
    "machine": "Machine",
    "target": "Target",
}


@dataclass(frozen=True, slots=True)
class Option:
    """A level of a filter."""

    value: str
    text: str
    selected: bool


@dataclass(frozen=True, slots=True)
class FormField:
    """A filter: its name in addresses and on the page; several levels can be chosen where several were asked for."""

    name: str
    label: str
    options: tuple[Option, ...]
    multiple: bool

    @property
    def is_set(self) -> bool:
        return any(option.selected for option in self.options)


@dataclass(frozen=True, slots=True)
class MomentField:
    """A field of a date, or of a text where a time was asked for. `kind` is the input's type."""

    name: str
    label: str
    kind: Literal["date", "text"]
    value: str


def make_moment_fields(pairs: Pairs) -> tuple[MomentField, ...]:
    """Return the fields of the first and the last moment, which ask again for what was asked for."""
    texts = dict(pairs)
    return tuple(
        MomentField(name, label, "date" if len(text) in (0, len("2026-11-21")) else "text", text)
        for name, label in (("since", "From"), ("until", "To"))
        for text in (texts.get(name, ""),)
    )


def make_fields(asked: Filters, choices: Choices) -> tuple[FormField, ...]:
    """Return the fields that have levels in the index, each with these and those that were asked for."""
    known = ((name, label, getattr(asked, name), choices[name.removesuffix("s")]) for name, label in _LABELS.items())
    return tuple(
        FormField(
            name.removesuffix("s"),
            label,
            # What was asked for stays chosen where nothing has it.
            tuple(Option(str(each), _name(name, each), each in levels) for each in dict.fromkeys((*there, *levels))),
            multiple=len(levels) > 1,
        )
        for name, label, levels, there in known
        if there or levels
    )


def _name(name: str, level: object) -> str:
    return name_transport({"transport": str(level)}) if name == "transports" else str(level)


def make_address(path: str, pairs: Pairs, *without: str, **more: str) -> str:
    """Return the address of a path with these parameters, without some of them and with more."""
    kept = [(name, value) for name, value in pairs if name not in without and name not in more]
    query = urlencode([*kept, *more.items()])
    return f"{path}?{query}" if query else path
