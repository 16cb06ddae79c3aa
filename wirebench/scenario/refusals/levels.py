"""Levels that can't stand beside each other, and comparisons that no two cells make."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import get_args

from wirebench.scenario.cell import Cell
from wirebench.scenario.contract import (
    COMES_WITH,
    COMPARABLE,
    TRANSPORTS,
    Driver,
)
from wirebench.scenario.model import EVERY_TRANSPORT, CrossCheck, Factors, Scenario, field_of
from wirebench.scenario.refusals.refusal import Refusal


def unfit_levels(factors: Factors) -> Iterator[Refusal]:
    """Refuse levels that stand twice, and those of a transport that no cell has."""
    for name in factors.names():
        levels = factors.levels(name)
        by_transport = levels if isinstance(levels, dict) else {EVERY_TRANSPORT: levels}
        for transport, own in by_transport.items():
            field = field_of(name) if transport == EVERY_TRANSPORT else (*field_of(name), transport)
            if len(set(own)) < len(own):
                yield Refusal(field, "a level stands twice in the list", "name each level once")
            if transport not in (EVERY_TRANSPORT, *factors.transport):
                hint = "add it there, or remove its levels here"
                yield Refusal(field, f"{transport} is not in factors.transport", hint)


def unfit_runtimes(factors: Factors) -> Iterator[Refusal]:
    """Refuse runtimes that a transport doesn't have, or not in the implementations that there are."""
    for transport in factors.transport:
        owner = (transport,) if transport in factors.runtime else ()
        runtimes = TRANSPORTS[transport].runtimes
        possible = [name for each in factors.implementations(transport) for name in runtimes[each]]
        for place, name in enumerate(factors.runtime.get(owner[0] if owner else EVERY_TRANSPORT, ())):
            if name in possible:
                continue
            languages = [each for each, names in runtimes.items() if name in names]
            yield Refusal(
                ("factors", "runtime", *owner, place),
                f"{name!r} is a runtime in {languages[0]}" if languages else f"{transport} has no runtime {name!r}",
                f"add {languages[0]} to factors.implementation, or choose from {', '.join(possible)}"
                if languages
                else f"choose from {', '.join(possible)}; for one transport alone: runtime: {{{transport}: …}}",
            )


def unfit_cross_check(check: CrossCheck, factors: Factors, cells: Sequence[Cell]) -> Iterator[Refusal]:
    """Refuse a cross-check of cells that there aren't, or by a driver that verdicts would rest on: stats.compare."""
    for transport in check.driver:
        if transport not in (EVERY_TRANSPORT, *factors.transport):
            hint = "add it there, or remove its drivers here"
            yield Refusal(("cross_check", "driver", transport), f"{transport} is not in factors.transport", hint)
    ranks = get_args(Driver)
    for transport, drivers in check.driver.items():
        checked = {cell.driver for cell in cells if transport in (EVERY_TRANSPORT, cell.transport)}
        for driver in drivers:
            if any(ranks.index(driver) < ranks.index(each) for each in checked):
                field = ("cross_check", "driver", *(() if transport == EVERY_TRANSPORT else (transport,)))
                message = f"verdicts would rest on {driver}, which comes before {' and '.join(sorted(checked))}"
                yield Refusal(field, message, "swap it with factors.driver")
    for name, levels in (("operation", check.operation), ("concurrency", check.concurrency)):
        present = dict.fromkeys(getattr(cell, name) for cell in cells)
        for place, level in enumerate(levels):
            if level not in present:
                hint = f"choose from {', '.join(map(str, present))}"
                yield Refusal(("cross_check", name, place), f"no cell has the {name} {level!r}", hint)


def incomparable(scenario: Scenario, cells: Sequence[Cell]) -> Iterator[Refusal]:
    """Refuse a comparison that no two cells make, if one is asked for: in words, or by several transports."""
    factor = scenario.compare
    in_words = "compare" in scenario.model_fields_set
    if _levels_compared(cells, factor) or not (in_words or len(scenario.factors.transport) > 1):
        return
    several = len({cell.factors[factor] for cell in cells}) > 1
    fix = "give the cells the same levels of all others" if several else f"give factors.{factor} several levels"
    compared = {name: levels for name in COMPARABLE if (levels := _levels_compared(cells, name))}
    varied = ", ".join(f"{name} ({', '.join(map(str, levels))})" for name, levels in compared.items())
    yield Refusal(
        ("compare",) if in_words else ("factors", "transport"),
        f"there is nothing to compare: no two cells differ in {factor} alone",
        f"{fix}, or compare what varies: {varied}" if varied else fix,
    )


def _levels_compared(cells: Sequence[Cell], factor: str) -> tuple[object, ...]:
    """Return the levels of a factor in which cells differ that are equal in all other factors."""
    own = {factor, *COMES_WITH.get(factor, ())}
    levels: dict[tuple[object, ...], dict[object, None]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in own)
        levels.setdefault(others, {})[cell.factors[factor]] = None
    return tuple(dict.fromkeys(itertools.chain.from_iterable(each for each in levels.values() if len(each) > 1)))
