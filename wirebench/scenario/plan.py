"""The plan: every cell in every block, in a random order that a seed repeats."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from wirebench.errors import UsageError
from wirebench.scenario.cell import Cell, ServiceSpec
from wirebench.scenario.contract import (
    CLUSTER_ONLY,
    STREAM_ITEMS,
    TRANSPORTS,
    Implementation,
    TargetName,
    Transport,
    defaults,
)
from wirebench.scenario.model import EVERY_TRANSPORT, CrossCheck, Scenario
from wirebench.scenario.refusals import (
    Refusal,
    impossible,
    incomparable,
    unfit_cross_check,
    unfit_levels,
    unfit_load,
    unfit_runtimes,
    unfit_target,
)

CELLS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One cell in one block. `order` counts from 0 within the block, `block` from 1."""

    block: int
    order: int
    cell: Cell

    @property
    def id(self) -> str:
        """A name that is unique in the run, and fit for a file."""
        return f"b{self.block:03d}-{self.cell.id}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run will do."""

    scenario: Scenario
    seed: int
    cells: tuple[Cell, ...]
    blocks: tuple[tuple[PlannedCell, ...], ...]
    #: Factors that the scenario sets and the target doesn't have.
    left_out: tuple[str, ...] = ()
    #: The ids of what has been measured before, where a run goes on.
    done: frozenset[str] = frozenset()

    @property
    def cells_total(self) -> int:
        """How many cells all blocks have together."""
        return len(self.cells) * len(self.blocks)

    def left_of(self, block: tuple[PlannedCell, ...]) -> tuple[PlannedCell, ...]:
        """Return the cells of a block that are still to be measured."""
        return tuple(planned for planned in block if planned.id not in self.done)

    @property
    def services(self) -> tuple[ServiceSpec, ...]:
        """The distinct services, in the order of the cells."""
        return tuple(dict.fromkeys(cell.service for cell in self.cells))

    @property
    def measured_s(self) -> float:
        """How long all warm-ups and windows that are left take, in seconds; at most, if they are numbers of calls."""
        load = self.scenario.load
        return (self.cells_total - len(self.done)) * (load.warmup_s + load.window_s)


def make_plan(scenario: Scenario, seed: int, target: TargetName = "local") -> Plan:
    """Lay out all cells and blocks, for a target: it has a say in what can be, and in what a factor is by default.

    Raises UsageError, with line and field, for what can't be measured or compared, before anything starts.
    """
    factors = scenario.factors
    _refuse(scenario, unfit_load(scenario))
    _refuse(scenario, unfit_target(scenario, target))
    _refuse(scenario, unfit_levels(factors))
    _refuse(scenario, unfit_runtimes(factors))
    _refuse(scenario, _too_many(scenario, target))
    cells = tuple(_cells(scenario, target))
    _refuse(scenario, (refusal for cell in cells for refusal in impossible(cell, factors, scenario.load)))
    if scenario.cross_check:
        cells = _cross_checked(scenario, scenario.cross_check, cells)
    _refuse(scenario, incomparable(scenario, cells))
    shuffle = random.Random(seed)  # noqa: S311 - an order, not a secret
    blocks = []
    for block in range(1, scenario.blocks + 1):
        order = shuffle.sample(cells, k=len(cells))
        blocks.append(tuple(PlannedCell(block, place, cell) for place, cell in enumerate(order)))
    left_out = () if target == "kubernetes" else tuple(name for name in CLUSTER_ONLY if factors.levels(name))
    return Plan(scenario, seed, cells, tuple(blocks), left_out)


def _refuse(scenario: Scenario, refusals: Iterable[Refusal]) -> None:
    """Raise the first refusal, if there is any, as a UsageError."""
    for refusal in refusals:
        raise UsageError(f"{scenario.where(refusal.field)}: {refusal.message}", refusal.hint)


def _too_many(scenario: Scenario, target: TargetName) -> Iterator[Refusal]:
    """Refuse more cells than anybody can measure, before they are laid out."""
    cells = sum(math.prod(map(len, levels.values())) for _, levels in _combinations(scenario, target))
    if cells > CELLS_MAX:
        yield Refusal(("factors",), f"{cells} cells are over {CELLS_MAX}", "vary less in one scenario")


def _cells(scenario: Scenario, target: TargetName) -> Iterator[Cell]:
    shape = scenario.load.shape
    for transport, levels in _combinations(scenario, target):
        for values in itertools.product(*levels.values()):
            chosen = cast("dict[str, Any]", dict(zip(levels, values, strict=True)))
            cell = Cell(transport=transport, shape=shape, **chosen)
            default = cell.is_stream and cell.stream_items is None
            yield dataclasses.replace(cell, stream_items=STREAM_ITEMS) if default else cell


def _cross_checked(scenario: Scenario, check: CrossCheck, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return the cells, and after them those that other drivers measure as well. Raises UsageError."""
    factors = scenario.factors.model_copy(update={"driver": check.driver})
    _refuse(scenario, unfit_cross_check(check, factors, cells))
    added = [
        dataclasses.replace(cell, driver=driver)
        for cell in cells
        if cell.operation in (check.operation or (cell.operation,))
        and cell.concurrency in (check.concurrency or (cell.concurrency,))
        for driver in check.driver.get(cell.transport) or check.driver.get(EVERY_TRANSPORT) or ()
    ]
    refusals = (refusal for cell in added for refusal in impossible(cell, factors, scenario.load))
    _refuse(scenario, map(_blame_cross_check, refusals))
    if not set(added) - set(cells):
        hint = "name drivers that factors.driver doesn't have, and levels that some cells have together"
        _refuse(scenario, [Refusal(("cross_check",), "it adds no cell", hint)])
    return tuple(dict.fromkeys((*cells, *added)))


def _blame_cross_check(refusal: Refusal) -> Refusal:
    """Return a refusal of a driver with the place where the cross-check names it."""
    section, name, *place = refusal.field
    return dataclasses.replace(refusal, field=("cross_check" if name == "driver" else section, name, *place))


def _combinations(scenario: Scenario, target: TargetName) -> Iterator[tuple[Transport, dict[str, tuple[Any, ...]]]]:
    """Yield each transport, in each of its implementations, with their levels of all factors by name."""
    for transport in scenario.factors.transport:
        for implementation in scenario.factors.implementations(transport):
            yield transport, _levels(scenario, transport, implementation, target)


def _levels(
    scenario: Scenario, transport: Transport, implementation: Implementation, target: TargetName
) -> dict[str, tuple[Any, ...]]:
    levels: dict[str, tuple[Any, ...]] = {}
    factors, otherwise = scenario.factors, defaults(transport, implementation, target)
    if factors.network.model_fields_set:
        # What is compared takes the same way: where nothing is said of the delay, there is none, and the proxy is.
        otherwise["delay_ms"] = 0
    for name, default in otherwise.items():
        written = {} if name in CLUSTER_ONLY and target != "kubernetes" else factors.levels(name)
        levels[name] = written.get(transport) or written.get(EVERY_TRANSPORT) or (default,)
    # Of the runtimes that the scenario names, each implementation takes its own; one that has none, its default.
    runtimes = TRANSPORTS[transport].runtimes[implementation]
    own = tuple(name for name in levels["runtime"] if name in runtimes)
    levels |= {"implementation": (implementation,), "runtime": own or runtimes[:1]}
    if scenario.load.swept:
        levels["concurrency"] = scenario.load.swept
    return levels
