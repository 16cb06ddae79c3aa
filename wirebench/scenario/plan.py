"""The plan: every cell in every block, in a random order that a seed repeats."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from wirebench.errors import UsageError
from wirebench.scenario.cell import Cell, ServiceSpec
from wirebench.scenario.contract import THREADED_RUNTIMES, TRANSPORTS, WRITING_OPERATIONS, Transport
from wirebench.scenario.model import EVERY_TRANSPORT, Factors, Scenario

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

    @property
    def services(self) -> tuple[ServiceSpec, ...]:
        """The distinct services, in the order of the cells."""
        return tuple(dict.fromkeys(cell.service for cell in self.cells))

    @property
    def measured_s(self) -> float:
        """How long all warm-ups and windows take, in seconds."""
        load = self.scenario.load
        return sum(map(len, self.blocks)) * (load.warmup_s + load.window_s)


def make_plan(scenario: Scenario, seed: int) -> Plan:
    """Lay out all cells and blocks. Raises UsageError for a combination that can't be, before anything starts."""
    cells = tuple(_cells(scenario.factors))
    if len(cells) > CELLS_MAX:
        raise UsageError(f"factors: {len(cells)} cells are over {CELLS_MAX}", "vary less in one scenario")
    if len(set(cells)) < len(cells):
        raise UsageError("factors: a level stands twice in a list", "name each level once")
    for cell in cells:
        _refuse_impossible(cell)
    shuffle = random.Random(seed)  # noqa: S311 - an order, not a secret
    blocks = []
    for block in range(1, scenario.blocks + 1):
        order = shuffle.sample(cells, k=len(cells))
        blocks.append(tuple(PlannedCell(block, place, cell) for place, cell in enumerate(order)))
    return Plan(scenario, seed, cells, tuple(blocks))


def _cells(factors: Factors) -> Iterator[Cell]:
    for transport in factors.transport:
        facts = TRANSPORTS[transport]
        levels = {
            "runtime": _levels(factors.runtime, transport, facts.runtimes[0]),
            "driver": _levels(factors.driver, transport, facts.drivers[0]),
            "operation": _levels(factors.operation, transport),
            "concurrency": _levels(factors.concurrency, transport, 1),
            "rate_per_s": _levels(factors.rate_per_s, transport),
            "workers": _levels(factors.workers, transport, 1),
            "threads": _levels(factors.threads, transport),
            "store": _levels(factors.store, transport, "memory"),
            "codec": _levels(factors.codec, transport, facts.codecs[0]),
            "connection": _levels(factors.connection, transport, "keep"),
        }
        for values in itertools.product(*levels.values()):
            yield Cell(transport=transport, **cast("dict[str, Any]", dict(zip(levels, values, strict=True))))


def _levels(factor: dict[Any, tuple[Any, ...]] | None, transport: Transport, default: object = None) -> tuple[Any, ...]:
    levels = factor or {}
    return levels.get(transport) or levels.get(EVERY_TRANSPORT) or (default,)


def _refuse_impossible(cell: Cell) -> None:
    facts = TRANSPORTS[cell.transport]
    choices = (("runtime", facts.runtimes), ("driver", facts.drivers), ("codec", facts.codecs))
    for name, possible in choices:
        if getattr(cell, name) not in possible:
            raise UsageError(
                f"factors.{name}: {cell.transport} has no {name} {getattr(cell, name)!r}",
                f"choose from {', '.join(possible)}; for one transport alone: {name}: {{{cell.transport}: …}}",
            )
    if cell.operation in WRITING_OPERATIONS and cell.store == "memory" and cell.workers > 1:
        raise UsageError(
            f"factors.store: {cell.operation} on {cell.workers} workers with a store in each one's memory: "
            "a worker would not know what another one stored, and its answers would be wrong",
            "set factors.store to sqlite, which the workers of one machine share, or workers to 1",
        )
    if cell.threads is not None and cell.runtime not in THREADED_RUNTIMES:
        raise UsageError(
            f"factors.threads: the runtime {cell.runtime!r} has no thread pool",
            f"give threads by transport, to runtimes that have one: {', '.join(sorted(THREADED_RUNTIMES))}",
        )
    if cell.driver == "ghz" and cell.rate_per_s is not None:
        raise UsageError(
            "factors.driver: ghz measures no queueing at a fixed rate, so an open load by it has no response time",
            "drive open loads by k6",
        )
    if cell.driver == "ghz" and cell.connection == "reopen":
        raise UsageError("factors.connection: ghz keeps its connections", "drive reopened connections by k6")
