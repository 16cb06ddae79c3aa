"""The scaling laws of a run: throughput over replicas, workers or connections, where the points bear a law."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.analysis.scaling_law import ScalingLaw, find_common_blocks, fit_common_blocks
from wirebench.analysis.series import FactorSeries, find_series
from wirebench.analysis.summary import CellSummary
from wirebench.model.record import Gate

#: The factors that add more of the same.
SCALED = ("replicas", "workers", "concurrency")


@dataclass(frozen=True, slots=True)
class Scaling:
    """A series, and the law of its throughput; without one, what keeps it from having one.

    That is a gate that failed at a level, too few levels, or else too few blocks that measured all of them.
    """

    series: FactorSeries
    law: ScalingLaw | None
    failed: tuple[tuple[float, Gate], ...]
    blocks: int


def find_scalings(cells: Iterable[CellSummary]) -> tuple[Scaling, ...]:
    """Return the series over what can be scaled, with their laws.

    Loads whose rate is given have none: what is served is then what was asked for. Nor have services that are scaled
    meanwhile. Of a search, it is the capacity.
    """
    full = [
        cell
        for cell in cells
        if not (cell.factors["rate_per_s"] or cell.factors["replicas_max"])
        and cell.factors["shape"] in (None, "capacity")
    ]
    return tuple(_fit(series) for factor in SCALED for series in find_series(full, factor))


def _fit(series: FactorSeries) -> Scaling:
    failed = tuple(
        (level, gate)
        for level, cell in zip(series.levels, series.cells, strict=True)
        for gate in cell.failed_gates(cell.rate)
    )
    by_level = {level: cell.by_block(cell.rate) for level, cell in zip(series.levels, series.cells, strict=True)}
    law = None if failed else fit_common_blocks(by_level)
    return Scaling(series, law, failed, len(find_common_blocks(by_level)))
