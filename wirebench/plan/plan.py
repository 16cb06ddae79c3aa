"""The plan: every cell in every block, in a random order that a seed repeats."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from wirebench.errors import UsageError
from wirebench.model.cell import FACTORS, Cell, ServiceSpec, find_defaults
from wirebench.model.contract import STREAM_ITEMS, TRANSPORTS, Driver, Implementation, TargetName, Transport
from wirebench.model.scenario import CrossCheck, Scenario, find_own
from wirebench.plan.validation import ValidationMessage, validate_cell, validate_plan, validate_scenario

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
    #: The ids of cells that were measured before, where a run is resumed.
    done: frozenset[str] = frozenset()
    #: The target that it was made for.
    target: TargetName = "local"
    #: Drivers of cross-checks that aren't installed: it has no cells of them.
    skipped: tuple[Driver, ...] = ()

    @property
    def cells_total(self) -> int:
        return len(self.cells) * len(self.blocks)

    def list_cells_left(self, block: tuple[PlannedCell, ...]) -> tuple[PlannedCell, ...]:
        return tuple(planned for planned in block if planned.id not in self.done)

    @property
    def services(self) -> tuple[ServiceSpec, ...]:
        return tuple(dict.fromkeys(cell.service for cell in self.cells))

    @property
    def measured_s(self) -> float:
        """How long warm-ups and windows that are left take, in seconds; at most, if they are calls or a search."""
        load = self.scenario.load
        return (self.cells_total - len(self.done)) * load.windows * (load.warmup_s + load.window_s)


def make_plan(scenario: Scenario, seed: int, target: TargetName = "local", missing: Collection[Driver] = ()) -> Plan:
    """Plan all cells and blocks for a target, on which the possible levels and the defaults of factors depend.

    Cross-checks by drivers that are `missing` are skipped. Raises UsageError, with line and field, for what can't be
    measured or compared, before anything starts.
    """
    _raise_first(scenario, validate_scenario(scenario, target))
    if (count := count_cells(scenario, target)) > CELLS_MAX:
        _raise_first(scenario, [(("factors",), f"{count} cells are over {CELLS_MAX}", "vary less in one scenario")])
    cells = tuple(_build_cells(scenario, target))
    _raise_first(scenario, *(validate_cell(cell, scenario) for cell in cells))
    added = _list_cross_checks(scenario, scenario.cross_check, cells) if scenario.cross_check else ()
    skipped = tuple(dict.fromkeys(cell.driver for cell in added if cell.driver in missing))
    cells = (*cells, *(cell for cell in added if cell.driver not in skipped))
    _raise_first(scenario, validate_plan(scenario, cells, target))
    shuffle = random.Random(seed)  # noqa: S311 - an order, not a secret
    blocks = []
    for block in range(1, scenario.blocks + 1):
        order = shuffle.sample(cells, k=len(cells))
        blocks.append(tuple(PlannedCell(block, place, cell) for place, cell in enumerate(order)))
    left_out = tuple(name for name in _list_foreign(target) if getattr(scenario.factors, name))
    return Plan(scenario, seed, cells, tuple(blocks), left_out, target=target, skipped=skipped)


def _list_foreign(target: TargetName) -> tuple[str, ...]:
    """Return the factors that a target doesn't have; of replicas it has one."""
    return tuple(name for name, each in FACTORS.items() if target not in each.targets and name != "replicas")


def _raise_first(scenario: Scenario, *messages: Iterable[ValidationMessage]) -> None:
    """Raise UsageError for the first message, if there is one."""
    for field, text, hint in itertools.chain.from_iterable(messages):
        raise UsageError(f"{scenario.source.locate(field)}: {text}", hint)


def count_cells(scenario: Scenario, target: TargetName) -> int:
    """Return how many cells a scenario has, without those of cross-checks."""
    return sum(math.prod(map(len, levels.values())) for levels in _list_combinations(scenario, target))


def list_needs(scenario: Scenario) -> Iterator[str]:
    """Yield what a scenario needs besides a machine with wirebench."""
    factors = scenario.factors
    of_clusters = [getattr(factors, name) for name, each in FACTORS.items() if each.targets == ("kubernetes",)]
    if any(len(set(itertools.chain(*levels.values()))) > 1 for levels in of_clusters):
        yield "cluster"
    if "postgres" in itertools.chain(*factors.store.values()):
        yield "PostgreSQL"
    yield from dict.fromkeys(each for each in itertools.chain(*factors.driver.values()) if each != "wireload")


def _build_cells(scenario: Scenario, target: TargetName) -> Iterator[Cell]:
    operations = scenario.application.operations
    for levels in _list_combinations(scenario, target):
        for values in itertools.product(*levels.values()):
            chosen = cast("dict[str, Any]", dict(zip(levels, values, strict=True)))
            operation = operations.get(chosen["operation"])
            if operation and operation.stream and chosen["stream_items"] is None:
                chosen["stream_items"] = STREAM_ITEMS if operation.asks_for("items") else 0
            yield Cell(**chosen)


def _list_cross_checks(scenario: Scenario, check: CrossCheck, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return the cells that other drivers measure as well, by these. Raises UsageError."""
    factors = scenario.factors.model_copy(update={"driver": check.driver})
    checked = scenario.model_copy(update={"factors": factors})
    added = [dataclasses.replace(cell, driver=driver) for cell in cells for driver in check.list_drivers(cell)]
    _raise_first(scenario, *(map(_blame_cross_check, validate_cell(cell, checked)) for cell in added))
    added = [cell for cell in dict.fromkeys(added) if cell not in cells]
    if not added:
        hint = "name drivers that factors.driver doesn't have, and levels that some cells have together"
        _raise_first(scenario, [(("cross_check",), "it adds no cell", hint)])
    return tuple(added)


def _blame_cross_check(message: ValidationMessage) -> ValidationMessage:
    """Return a message on a driver with the field of the cross-check that names it."""
    (_, name, *place), text, _ = message
    if name != "driver":
        return message
    return ("cross_check", name, *place), text, "name another driver, or drop the cross-check: --set cross_check=null"


def _list_combinations(scenario: Scenario, target: TargetName) -> Iterator[dict[str, tuple[Any, ...]]]:
    """Yield the levels of all factors by name of each variant, or of each transport in each of its implementations."""
    for name, variant in scenario.variants.items():
        levels = _choose_levels(scenario, variant.transport, None, target)
        levels |= {"variant": (name,), "tls": ("server" if variant.tls else "none",)}
        if target == "kubernetes":
            levels |= {"replicas": (None,), "cpu_limit_millicores": (None,)}  # what the service has
        yield levels
    for transport in scenario.factors.transport:
        for implementation in find_own(scenario.factors.implementation, transport) or ("python",):
            yield _choose_levels(scenario, transport, implementation, target)


def _choose_levels(
    scenario: Scenario, transport: Transport, implementation: Implementation | None, target: TargetName
) -> dict[str, tuple[Any, ...]]:
    factors, defaults = scenario.factors, find_defaults(transport, implementation, target)
    defaults["operation"] = next(iter(scenario.application.operations))
    defaults["shape"] = scenario.load.shape
    if factors.delay_ms:  # what is compared takes the same way: through the proxy
        defaults["delay_ms"] = 0
    left_to_defaults = ("transport", "variant", "shape", *_list_foreign(target))
    levels: dict[str, tuple[Any, ...]] = {}
    for name, default in defaults.items():
        written = {} if name in left_to_defaults else getattr(factors, name)
        levels[name] = find_own(written, transport) or (default,)
    if implementation:
        # Of the runtimes that the scenario names, each implementation takes its own; one that has none, its default.
        runtimes = TRANSPORTS[transport].runtimes[implementation]
        own = tuple(name for name in levels["runtime"] if name in runtimes)
        levels |= {"implementation": (implementation,), "runtime": own or runtimes[:1]}
    if scenario.load.swept:
        levels["concurrency"] = scenario.load.swept
    return levels
