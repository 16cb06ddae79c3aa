"""The filters as a form whose answer is an address, so that a view can be shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from wirebench.present.labels import name_transport
from wirebench.store.query import Filters
from wirebench.store.select import Choices

#: Pairs of names and values, as an address has them.
Pairs = Sequence[tuple[str, str]]

#: Filters that can be chosen from; two of them have an alias.
_LABELS = {
    "scenario": "Scenario",
    "transports": "Transport",
    "drivers": "Driver",
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
