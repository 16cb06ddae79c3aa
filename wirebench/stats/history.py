"""One cell over many runs: a figure by the time of its run, machines and targets kept apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from wirebench.stats.across import Change, across
from wirebench.stats.differences import hardware
from wirebench.stats.names import Factors
from wirebench.stats.pair import judged
from wirebench.stats.ratio import Ratio, mean
from wirebench.stats.summary import METRICS, CellSummary, Metric, summarise
from wirebench.store import Gate, Run, RunInfo


@dataclass(frozen=True, slots=True)
class Point:
    """A cell in one run: the geometric mean of its blocks' figures, with its interval where there are two or more.

    `change` is what has become of it since the point before on the same line; None of the first.
    """

    run: RunInfo
    cell: CellSummary
    figure: Ratio
    failed_gates: tuple[Gate, ...]
    change: Change | None

    @property
    def started_at(self) -> datetime:
        """When the run began, in UTC."""
        return datetime.fromisoformat(self.run.started_at).astimezone(UTC)

    @property
    def version(self) -> str:
        """What was measured: the commit, or else the version of the services."""
        return self.run.commit or self.run.versions.get("wirebench-services", "unknown")


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured on one machine and target, the oldest first; there is at least one point."""

    points: tuple[Point, ...]

    @property
    def target(self) -> str:
        """The target."""
        return self.points[0].run.target

    @property
    def machine(self) -> str:
        """The machine, in words."""
        return ", ".join(hardware(self.points[0].run.machine).values())

    @property
    def name(self) -> str:
        """Name where it was measured."""
        return f"{self.target}: {self.machine}"


@dataclass(frozen=True, slots=True)
class History:
    """A cell over its runs, in `metric`: a line for each machine and target, in the order of their first runs."""

    factors: Factors
    metric: Metric
    #: The figures that any of the runs has.
    metrics: tuple[Metric, ...]
    lines: tuple[Line, ...]


def history(runs: Iterable[Run], metric: Metric | None = None) -> History | None:
    """Return the history of a cell, by default of the figure that verdicts are on.

    `runs` stand in the order of their time, each with the records of this cell alone, which may have other factors on
    another target. Those without the figure are left out; None if all are.
    """
    measured = [(run, cell) for run in runs for cell in summarise(run.records)]
    if not measured:
        return None
    metric = metric or judged(measured[-1][1])
    lines: dict[tuple[object, ...], list[Point]] = {}
    before: dict[tuple[object, ...], Run] = {}
    for run, cell in measured:
        figures = list(cell.by_block(metric).values())
        if not figures:
            continue
        where = (run.info.target, *hardware(run.info.machine).values(), *cell.factors.items())
        # Both have this one cell: so is the change one.
        (change,) = across(before[where], run, metric).changes if where in before else (None,)
        lines.setdefault(where, []).append(Point(run.info, cell, mean(figures), cell.failed_gates(metric), change))
        before[where] = run
    if not lines:
        return None
    metrics = tuple(each for each in METRICS.values() if any(one.by_block(each) for _, one in measured))
    return History(cell.factors, metric, metrics, tuple(Line(tuple(points)) for points in lines.values()))
