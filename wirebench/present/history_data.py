"""Histories as programs get them: from the API, and from `wirebench history --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from wirebench.analysis.change_points import LevelChange, LineChanges
from wirebench.analysis.history import History, HistoryPoint, Line
from wirebench.analysis.pair import Verdict
from wirebench.analysis.ratio import Ratio
from wirebench.model.labels import describe_factors
from wirebench.model.metric import Metric
from wirebench.present.data import make_view
from wirebench.present.level_changes import describe_level_change


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChangeData:
    """What has become of a cell since the run before on the same line: the ratio, and the verdict of `compare`.

    There is no ratio of a figure that such cells aren't compared by.
    """

    verdict: Verdict
    ratio: Ratio | None
    failed_gates: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRunData:
    """A cell in one run: its figure, and `spread` says what `low` and `high` are."""

    run: str
    started_at: datetime
    status: str
    commit: str | None
    versions: dict[str, str]
    cell: str
    blocks: int
    figure: float
    low: float | None
    high: float | None
    failed_gates: tuple[str, ...]
    notes: tuple[str, ...]
    change: RunChangeData | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChangeData:
    """A change of level: the first run of the new one, the last of the old one, and new / old.

    `p_value` is the chance of so clear a change, were there none.
    """

    first: str
    last_before: str
    ratio: float
    p_value: float
    runs_before: int
    runs_after: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLineData:
    """What was measured on one machine and target, the oldest run first; `changes` are null if not asked for."""

    target: str
    machine: str
    runs: tuple[HistoryRunData, ...]
    changes: tuple[LevelChangeData, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryData:
    """A cell over its runs, by machine and target."""

    name: str
    factors: dict[str, str | int | float | None]
    metric: str
    unit: str
    higher_is_better: bool
    spread: str
    lines: tuple[HistoryLineData, ...]


def make_history_data(found: History, changes: Sequence[LineChanges] | None = None) -> HistoryData:
    metric = found.metric
    of_lines = [None] * len(found.lines) if changes is None else [each.changes for each in changes]
    lines = tuple(_make_line(line, of_line, metric) for line, of_line in zip(found.lines, of_lines, strict=True))
    return make_view(HistoryData, found, metric, name=describe_factors(found.factors), lines=lines)


def _make_line(line: Line, changes: Sequence[LevelChange] | None, metric: Metric) -> HistoryLineData:
    of_level = None if changes is None else tuple(_make_level_change(each, metric) for each in changes)
    return make_view(HistoryLineData, line, runs=tuple(map(_make_run, line.points)), changes=of_level)


def _make_level_change(change: LevelChange, metric: Metric) -> LevelChangeData:
    return make_view(
        LevelChangeData,
        change,
        first=change.first.run.id,
        last_before=change.before[-1].run.id,
        runs_before=len(change.before),
        runs_after=len(change.after),
        sentence=describe_level_change(change, metric),
    )


def _make_run(point: HistoryPoint) -> HistoryRunData:
    change = point.change and make_view(
        RunChangeData, point.change, ratio=point.change.ratios.get(point.change.metric.name)
    )
    own = {"run": point.run.id, "figure": point.figure.estimate, "change": change}
    return make_view(HistoryRunData, point, point.figure, point.run, **own)
