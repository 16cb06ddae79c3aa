"""Cells that differ in one factor alone, whose levels are numbers: what can be drawn over the factor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wirebench.analysis.summary import CellSummary
from wirebench.model.application import load_builtin
from wirebench.model.factor import Factors
from wirebench.model.record import Gate

#: Fewer points make no line.
POINTS_MIN = 3
#: One in so many fewer requests than the most is as good as the most.
_AS_GOOD_AS = 0.95
#: Gates whose failure says that something gave way under the load, and not that too little was measured.
_BREAKING = frozenset(
    {"error_rate", "conformance", "counts", "connections", "dropped_iterations", "generator_cpu", "ceiling"}
)


@dataclass(frozen=True, slots=True)
class FactorSeries:
    """Cells in the order of their levels of a factor; all their other factors are equal."""

    factor: str
    cells: tuple[CellSummary, ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels, of shape (cells,)."""
        return tuple(level for cell in self.cells if (level := read_level(cell.factors, self.factor)) is not None)

    @property
    def most(self) -> CellSummary | None:
        """The first cell that served about as much in a second as any did; None if none served any."""
        served = {cell.cell: rate for cell in self.cells if (rate := cell.figure(cell.rate))}
        enough = _AS_GOOD_AS * max(served.values(), default=0.0)
        return next((cell for cell in self.cells if served.get(cell.cell, 0.0) >= enough > 0), None)

    @property
    def first_broken(self) -> tuple[CellSummary, Gate] | None:
        """The first cell in which something gave way, and what did: the gate that failed."""
        failed = ((cell, gate) for cell in self.cells for gate in cell.failed_gates())
        return next((each for each in failed if each[1].name in _BREAKING), None)


def read_level(factors: Factors, factor: str) -> float | None:
    """Return the level of a factor as a number; None if it isn't one. A payload's is what it measures.

    What a name stands for is only known of the built-in application's.
    """
    level = factors[factor]
    if factor == "payload" and not factors["variant"]:
        operation = load_builtin().operations.get(str(factors["operation"]))
        level = operation.find_size(level) if operation and isinstance(level, int | str) else None
    return level if isinstance(level, int | float) and not isinstance(level, bool) else None


def find_numeric_factors(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    return tuple(factor for factor in (cells[0].factors if cells else ()) if find_series(cells, factor))


def find_series(cells: Iterable[CellSummary], factor: str) -> tuple[FactorSeries, ...]:
    """Return the series over a factor that have at least `POINTS_MIN` levels, in the order of the cells."""
    lines: dict[tuple[object, ...], dict[float, CellSummary]] = {}
    for cell in cells:
        level = read_level(cell.factors, factor)
        if level is not None:
            others = tuple(value for name, value in cell.factors.items() if name != factor)
            lines.setdefault(others, {})[level] = cell
    return tuple(
        FactorSeries(factor, tuple(line[level] for level in sorted(line)))
        for line in lines.values()
        if len(line) >= POINTS_MIN
    )
