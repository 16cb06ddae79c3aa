"""Levels that can't stand beside each other, and comparisons that no two cells make."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import get_args

from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Driver
from wirebench.model.factor import COMPARABLE, FACTORS
from wirebench.model.scenario import EVERY_TRANSPORT, CrossCheck, Factors, Scenario, locate_factor
from wirebench.plan.validation.messages import ValidationMessages


def validate_levels(scenario: Scenario) -> ValidationMessages:
    """Reject levels that stand twice, and those of a transport that no cell has."""
    factors, transports = scenario.factors, scenario.transports
    for name in (name for name in FACTORS if name != "shape"):
        levels = factors.find_levels(name)
        by_transport = levels if isinstance(levels, dict) else {EVERY_TRANSPORT: levels}
        for transport, own in by_transport.items():
            field = locate_factor(name) if transport == EVERY_TRANSPORT else (*locate_factor(name), transport)
            if len(set(own)) < len(own):
                yield field, "a level appears twice in the list", "name each level once"
            if transport not in (EVERY_TRANSPORT, *transports):
                hint = "add it there, or remove its levels here"
                yield field, f"{transport} is {_describe_absence(scenario)}", hint


def _describe_absence(scenario: Scenario) -> str:
    return "of no variant that is measured" if scenario.variants else "not in factors.transport"


def validate_runtimes(factors: Factors) -> ValidationMessages:
    """Reject runtimes that a transport doesn't have, or not in the implementations that there are."""
    for transport in factors.transport:
        owner = (transport,) if transport in factors.runtime else ()
        runtimes = TRANSPORTS[transport].runtimes
        possible = [name for each in factors.list_implementations(transport) for name in runtimes[each]]
        for place, name in enumerate(factors.runtime.get(owner[0] if owner else EVERY_TRANSPORT, ())):
            if name in possible:
                continue
            languages = [each for each, names in runtimes.items() if name in names]
            message, hint = f"{transport} has no runtime {name!r}", f"choose from {', '.join(possible)}"
            if languages:
                message = f"{name!r} is a runtime in {languages[0]}"
                hint = f"add {languages[0]} to factors.implementation, or {hint}"
            else:
                hint += f"; for one transport alone: runtime: {{{transport}: …}}"
            yield ("factors", "runtime", *owner, place), message, hint


def validate_cross_check(check: CrossCheck, scenario: Scenario, cells: Sequence[Cell]) -> ValidationMessages:
    """Reject a cross-check of missing cells, or by a driver that comes before the one that it checks."""
    yield from _validate_checked_levels(check, scenario, cells)
    ranks = get_args(Driver)
    for transport, drivers in check.driver.items():
        checked = {cell.driver for cell in cells if transport in (EVERY_TRANSPORT, cell.transport)}
        for driver in drivers:
            if any(ranks.index(driver) < ranks.index(each) for each in checked):
                field = ("cross_check", "driver", *(() if transport == EVERY_TRANSPORT else (transport,)))
                message = f"verdicts would rest on {driver}, which comes before {' and '.join(sorted(checked))}"
                yield field, message, "swap it with factors.driver"


def _validate_checked_levels(check: CrossCheck, scenario: Scenario, cells: Sequence[Cell]) -> ValidationMessages:
    by_key: dict[str, Mapping[str, tuple[object, ...]]] = dict(check)
    for name, by_transport in by_key.items():
        for transport, levels in by_transport.items():
            own = () if transport == EVERY_TRANSPORT else (transport,)
            if not {*own} <= {*scenario.transports}:
                hint = "add it there, or remove its levels here"
                yield ("cross_check", name, transport), f"{transport} is {_describe_absence(scenario)}", hint
            present = dict.fromkeys(getattr(cell, name) for cell in cells if cell.transport in (own or TRANSPORTS))
            for place, level in enumerate(levels if name != "driver" else ()):
                if level not in present:
                    hint = f"choose from {', '.join(map(str, present))}"
                    yield ("cross_check", name, *own, place), f"no cell has the {name} {level!r}", hint


def validate_comparison(scenario: Scenario, cells: Sequence[Cell]) -> ValidationMessages:
    """Reject a comparison that no two cells make, if one is asked for: in words, or by several transports."""
    factor = scenario.compare
    in_words = "compare" in scenario.model_fields_set
    main = "variant" if scenario.variants else "transport"
    is_wanted = in_words or len({cell.factors[main] for cell in cells}) > 1
    if _list_compared_levels(cells, factor) or not is_wanted:
        return
    several = len({cell.factors[factor] for cell in cells}) > 1
    fix = "give the cells the same levels of all others" if several else f"give factors.{factor} several levels"
    compared = {name: levels for name in COMPARABLE if (levels := _list_compared_levels(cells, name))}
    varied = ", ".join(f"{name} ({', '.join(map(str, levels))})" for name, levels in compared.items())
    message = f"there is nothing to compare: no two cells differ in {factor} alone"
    hint = f"{fix}, or compare what varies: {varied}" if varied else fix
    yield ("compare",) if in_words else ("factors", main), message, hint


def _list_compared_levels(cells: Sequence[Cell], factor: str) -> tuple[object, ...]:
    """Return the levels of a factor in which cells differ that are equal in all other factors."""
    own = {factor, *FACTORS[factor].comes_with}
    levels: dict[tuple[object, ...], dict[object, None]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in own)
        levels.setdefault(others, {})[cell.factors[factor]] = None
    return tuple(dict.fromkeys(itertools.chain.from_iterable(each for each in levels.values() if len(each) > 1)))
