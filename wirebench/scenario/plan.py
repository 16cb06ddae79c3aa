"""The plan: every cell in every block, in a random order that a seed repeats."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from wirebench.errors import UsageError
from wirebench.scenario.cell import Cell, ServiceSpec
from wirebench.scenario.contract import CLUSTER_ONLY, TargetName, Transport, defaults
from wirebench.scenario.model import EVERY_TRANSPORT, Scenario
from wirebench.scenario.refusals import Refusal, impossible, incomparable, unfit_levels, unfit_load, unfit_target

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

    @property
    def services(self) -> tuple[ServiceSpec, ...]:
        """The distinct services, in the order of the cells."""
        return tuple(dict.fromkeys(cell.service for cell in self.cells))

    @property
    def measured_s(self) -> float:
        """How long all warm-ups and windows take, in seconds."""
        load = self.scenario.load
        return sum(map(len, self.blocks)) * (load.warmup_s + load.window_s)


def make_plan(scenario: Scenario, seed: int, target: TargetName = "local") -> Plan:
    """Lay out all cells and blocks, for a target: it has a say in what can be, and in what a factor is by default.

    Raises UsageError, with line and field, for what can't be measured or compared, before anything starts.
    """
    factors = scenario.factors
    _refuse(scenario, unfit_load(scenario))
    _refuse(scenario, unfit_target(scenario, target))
    _refuse(scenario, unfit_levels(factors))
    _refuse(scenario, _too_many(scenario, target))
    cells = tuple(_cells(scenario, target))
    _refuse(scenario, (refusal for cell in cells for refusal in impossible(cell, factors, scenario.load)))
    _refuse(scenario, incomparable(scenario, cells))
    shuffle = random.Random(seed)  # noqa: S311 - an order, not a secret
    blocks = []
    for block in range(1, scenario.blocks + 1):
        order = shuffle.sample(cells, k=len(cells))
        blocks.append(tuple(PlannedCell(block, place, cell) for place, cell in enumerate(order)))
    left_out = () if target == "kubernetes" else tuple(name for name in CLUSTER_ONLY if getattr(factors, name))
    return Plan(scenario, seed, cells, tuple(blocks), left_out)


def _refuse(scenario: Scenario, refusals: Iterable[Refusal]) -> None:
    """Raise the first refusal, if there is any, as a UsageError."""
    for refusal in refusals:
        raise UsageError(f"{scenario.where(refusal.field)}: {refusal.message}", refusal.hint)


def _too_many(scenario: Scenario, target: TargetName) -> Iterator[Refusal]:
    """Refuse more cells than anybody can measure, before they are laid out."""
    cells = sum(math.prod(map(len, _levels(scenario, each, target).values())) for each in scenario.factors.transport)
    if cells > CELLS_MAX:
        yield Refusal(("factors",), f"{cells} cells are over {CELLS_MAX}", "vary less in one scenario")


def _cells(scenario: Scenario, target: TargetName) -> Iterator[Cell]:
    for transport in scenario.factors.transport:
        levels = _levels(scenario, transport, target)
        for values in itertools.product(*levels.values()):
            yield Cell(transport=transport, **cast("dict[str, Any]", dict(zip(levels, values, strict=True))))


def _levels(scenario: Scenario, transport: Transport, target: TargetName) -> dict[str, tuple[Any, ...]]:
    """Return a transport's levels of all factors, by name."""
    levels = {}
    for name, default in defaults(transport, target).items():
        written = {} if name in CLUSTER_ONLY and target != "kubernetes" else getattr(scenario.factors, name)
        levels[name] = written.get(transport) or written.get(EVERY_TRANSPORT) or (default,)
    if scenario.load.swept:
        levels["concurrency"] = scenario.load.swept
    return levels
