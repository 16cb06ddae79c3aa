"""One cell over many runs: a figure by the time of its run, machines and targets kept apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from wirebench.analysis.compare_runs import CellChange, compare_runs
from wirebench.analysis.differences import describe_hardware
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.labels import Factors
from wirebench.model.metric import COMPARED, Metric
from wirebench.model.record import Gate
from wirebench.model.run_info import RunInfo
from wirebench.results.runs import Run


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A cell in one run: its figure, with how far its blocks lie apart where there are enough.

    `change` is what has become of it since the point before on the same line; None of the first.
    """

    run: RunInfo
    cell: CellSummary
    figure: Ratio
    failed_gates: tuple[Gate, ...]
    change: CellChange | None

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

    points: tuple[HistoryPoint, ...]

    @property
    def target(self) -> str:
        return self.points[0].run.target

    @property
    def machine(self) -> str:
        return ", ".join(describe_hardware(self.points[0].run.machine).values())

    @property
    def equivalence_margin(self) -> float:
        """That of the newest run."""
        return self.points[-1].run.equivalence_margin

    @property
    def name(self) -> str:
        return f"{self.target}: {self.machine}"


@dataclass(frozen=True, slots=True)
class History:
    """A cell over its runs, in `metric`: a line for each machine and target, in the order of their first runs."""

    factors: Factors
    metric: Metric
    #: The figures that any of the runs has.
    metrics: tuple[Metric, ...]
    lines: tuple[Line, ...]


def build_history(runs: Iterable[Run], metric: Metric | None = None) -> History | None:
    """Return the history of a cell, by default of the figure that verdicts are on.

    `runs` stand in the order of their time, each with the records of this cell alone, which may have other factors on
    another target. Those without the figure are left out; None if all are.
    """
    measured = [(run, cell) for run in runs for cell in summarise(run.records)]
    if not measured:
        return None
    metric = metric or measured[-1][1].judged_metric
    lines: dict[tuple[object, ...], list[HistoryPoint]] = {}
    before: dict[tuple[object, ...], Run] = {}
    for run, cell in measured:
        figure = cell.estimate(metric, run.info.looks_planned)
        if figure is None:
            continue
        where = (run.info.target, *describe_hardware(run.info.machine).values(), *cell.factors.items())
        # Both have this one cell: so is the change one.
        (change,) = compare_runs(before[where], run, metric).changes if where in before else (None,)
        lines.setdefault(where, []).append(HistoryPoint(run.info, cell, figure, cell.failed_gates(metric), change))
        before[where] = run
    if not lines:
        return None
    metrics = tuple(each for each in COMPARED.values() if any(one.by_block(each) for _, one in measured))
    return History(cell.factors, metric, metrics, tuple(Line(tuple(points)) for points in lines.values()))
