"""Names for cells, factors and their levels, for the terminal and the report alike.

What a name leaves out is the default: "gRPC" is gRPC on its first runtime, with its first codec, by its first driver.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, cast, get_args

from wirebench.errors import pluralise
from wirebench.model.cell import FACTORS, find_defaults
from wirebench.model.contract import Driver, Implementation, Transport
from wirebench.model.factor import Factors

if TYPE_CHECKING:
    from wirebench.analysis.summary import CellSummary

#: Those that may differ between two transports that are compared: they are part of the transport's name.
OF_TRANSPORT = tuple(name for name in FACTORS["transport"].comes_with if name != "variant")
#: Those that are named after a cell's transport where they aren't the default. The load is named separately.
_SETTINGS = tuple(
    name for name, factor in FACTORS.items() if factor.group != "load" and name not in ("transport", "variant")
)
_TRANSPORTS = {"rest": "REST", "grpc": "gRPC"}


def name_cell(factors: Factors, without: Collection[str] = (), compared: str = "") -> str:
    """Name a cell among those of the same operation and load: its transport, and what isn't the default.

    `without` are factors that are left out; the one that is `compared` is named even at its default: `REST with 1
    worker`.
    """
    settings = ", ".join(list_settings(factors, without, (compared,)))
    return f"{name_transport(factors)} with {settings}" if settings else name_transport(factors)


def name_cell_fully(factors: Factors, without: Collection[str] = (), compared: str = "") -> str:
    """Name a cell among others of any operation and load; as `name_cell` does."""
    return ": ".join(filter(None, (describe_situation(factors, without), name_cell(factors, without, compared))))


def name_in_run(cell: CellSummary, *without: str) -> str:
    """Name a cell among those of its run that have the same operation and load; `without` these factors."""
    return name_cell(cell.factors, {*without, *cell.shared}, cell.compared)


def name_fully_in_run(cell: CellSummary) -> str:
    """Name a cell among all of its run."""
    return name_cell_fully(cell.factors, cell.shared, cell.compared)


def describe_situation(factors: Factors, without: Collection[str] = ()) -> str:
    """Describe an operation and its load: what one cell shares with those that it can be compared with.

    `without` are factors that are left out.
    """
    names = (name for name, factor in FACTORS.items() if factor.group == "load" and name not in without)
    return ", ".join(name_level(name, factors) for name in names if factors[name])


def list_settings(factors: Factors, without: Collection[str] = (), always: Collection[str] = ()) -> tuple[str, ...]:
    """Name what isn't the default in a cell, and what is `always` named: not its transport, its load and `without`."""
    return tuple(
        name_level(name, factors)
        for name in _SETTINGS
        if name not in without and factors[name] is not None and (name in always or not is_default(name, factors))
    )


def describe_factors(factors: Factors, factor: str = "", varied: Collection[str] = ()) -> str:
    """Name what cells share that differ in a factor: the operation, the load, what isn't the default, what is `varied`.

    Without a factor, it is a cell by itself that is named: `gRPC users.get, 16 connections, 2 workers`.
    """
    comes_with = {"transport": OF_TRANSPORT, "variant": FACTORS["variant"].comes_with}
    own = {factor, *comes_with.get(factor, ())}
    owner = "" if factor in comes_with else f"{name_transport(factors)} "
    settings = list_settings(factors, own, {*varied} - {*OF_TRANSPORT, "driver"})
    return owner + ", ".join((describe_situation(factors, {factor}), *settings))


def name_transport(factors: Factors) -> str:
    """Write a cell's variant, or its transport as people do."""
    level = str(factors.get("variant") or factors["transport"])
    return _TRANSPORTS.get(level, level)


def name_level(name: str, factors: Factors) -> str:
    """Name a cell's level of a factor: `2 workers`, `a delay of 5 ms`, `no proxy`."""
    factor, level = FACTORS[name], factors[name]
    # Several users may share a connection.
    unit = "user" if name == "concurrency" and factors["connections"] else factor.unit
    if level is None or (unit and not level):
        return factor.none or f"default {unit}s"
    if unit:
        return pluralise(int(level), unit)
    return factor.nouns.get(level) or factor.noun.format(f"{level:,.10g}" if isinstance(level, int | float) else level)


def is_default(name: str, factors: Factors) -> bool:
    """Return whether a cell has a factor's default level, here or in a cluster."""
    implementation = cast("Implementation | None", factors["implementation"])
    default = find_defaults(cast("Transport", factors["transport"]), implementation)[name]
    # What a run can't set of a variant is None.
    return factors[name] in (None, default, FACTORS[name].cluster_default)


def list_some(names: Sequence[str], most: int) -> tuple[str, ...]:
    """Return at most so many names, and how many more there are."""
    return (*names[:most], *([f"{len(names) - most:,} more"] if len(names) > most else []))


def format_error(interval: tuple[float, float] | None) -> str:
    """Write the ends of an error, in any unit: `-0.01 to +0.3`; a dash for none."""
    # Two digits, and nothing smaller or larger with an exponent.
    return " to ".join(f"{round(float(f'{end:.2g}'), 4):+,.10g}" for end in interval) if interval else "–"


def capitalise(text: str) -> str:
    """Begin a sentence with a capital, unless its first word is a name that has its own way (gRPC, k6, users.get)."""
    first = text.split(" ", maxsplit=1)[0]
    is_word = first.isalpha() and first.islower() and first not in get_args(Driver)
    return text[:1].upper() + text[1:] if is_word else text


def name_gate(name: str) -> str:
    return name.replace("_", " ").replace("cpu", "CPU")
