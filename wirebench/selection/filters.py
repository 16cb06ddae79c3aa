"""The filters of results and runs: the same words in the API, in the addresses of pages, and on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from wirebench.index import Filters
from wirebench.scenario.contract import TRANSPORTS, Driver, TargetName
from wirebench.scenario.model import CONCURRENCY_MAX
from wirebench.selection.parameters import Parameter, moment, one_of, text, whole

_TARGETS = get_args(TargetName)

_MOMENT = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}


def names(name: str, description: str) -> Parameter:
    """Return a parameter that takes any names."""
    return Parameter(name=name, description=description, parse=text, several=True, separated=True)


def _choice(name: str, description: str, levels: Sequence[str]) -> Parameter:
    schema = {"type": "string", "enum": list(levels)}
    return Parameter(
        name=name, description=description, parse=one_of(*levels), schema=schema, several=True, separated=True
    )


FILTERS = (
    names("run_id", "Names of runs."),
    names("scenario", "Names of scenarios."),
    _choice("protocol", f"Transports: {', '.join(TRANSPORTS)}.", tuple(TRANSPORTS)),
    _choice("client", f"Drivers: {', '.join(get_args(Driver))}.", get_args(Driver)),
    Parameter(
        name="concurrency",
        description=f"Connections at a time, from 1 to {CONCURRENCY_MAX:,}.",
        parse=whole(1, CONCURRENCY_MAX),
        schema={"type": "integer", "minimum": 1, "maximum": CONCURRENCY_MAX},
        several=True,
        separated=True,
    ),
    names("operation", "Operations, such as users.get."),
    # A machine's line has commas of its own.
    Parameter(name="machine", description="Machines: their whole lines, one each.", parse=text, several=True),
    _choice("target", f"Targets: {', '.join(_TARGETS)}.", _TARGETS),
    Parameter(
        name="since",
        description="Runs that started then or later: a date, or a date and time, in UTC unless it says otherwise.",
        parse=moment(),
        schema=_MOMENT,
    ),
    Parameter(
        name="until",
        description="Runs that started then or before: a date, all of which counts, or a date and time.",
        parse=moment(end_of_day=True),
        schema=_MOMENT,
    ),
)


#: Of an index, which keeps in it the row that a page begins with.
_CURSOR_CHARACTERS_MAX = 4096

CURSOR = Parameter(
    name="cursor",
    description="Where the page begins: next_cursor of the page before.",
    parse=text,
    schema={"type": "string", "maxLength": _CURSOR_CHARACTERS_MAX},
    characters_max=_CURSOR_CHARACTERS_MAX,
)


def filters_of(levels: Mapping[str, tuple[Any, ...]]) -> Filters:
    """Return the filters of levels that were read; parameters that are no filters may be among them."""
    several = {each.name: levels[each.name] for each in FILTERS if each.several}
    since, until = (next(iter(levels[name]), None) for name in ("since", "until"))
    return Filters(**several, since=since, until=until)
