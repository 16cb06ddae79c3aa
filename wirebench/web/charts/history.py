"""A figure over runs: a line a machine and target, intervals, failed gates, and where the version is another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from wirebench.report.charts.style import styles_of_lines
from wirebench.report.numbers import number
from wirebench.stats.history import History, Point
from wirebench.stats.names import in_common
from wirebench.web.charts.plot import Frame, Interval, LinearScale, Plot, Series, Turn, lay_out, with_room

#: So wide that dates stand side by side.
_FRAME = Frame(width=1080, inset=42, labels_apart=112)
#: So far apart are versions that are written beside their uprights, at least.
_VERSIONS_APART = 84
#: So many characters tell a version from another.
VERSION_LENGTH = 12


def draw(history: History) -> Plot:
    """Lay out the runs in the order of their time, as far apart as each other; the scale needn't begin at 0."""
    runs = sorted(
        (point for line in history.lines for point in line.points), key=lambda point: (point.started_at, point.run.id)
    )
    labels = _labels(runs)
    looks = styles_of_lines(line.name for line in history.lines)
    points = [(looks[line.name], labels[point.run.id], point) for line in history.lines for point in line.points]
    scale = LinearScale.around([each for _, _, point in points for each in _extent(point)])
    series = [
        Series(
            looks[line.name],
            {labels[point.run.id]: point.figure.estimate for point in line.points},
            unfit={labels[point.run.id] for point in line.points if point.failed_gates},
        )
        for line in history.lines
    ]
    last = max(len(labels) - 1, 1)
    places = {label: index / last for index, label in enumerate(labels.values())}
    columns, lines = lay_out(series, places, scale, _FRAME)
    xs = {column.label: column.x for column in columns}
    intervals = (
        Interval(style, xs[label], scale.y(point.figure.low), scale.y(point.figure.high))
        for style, label, point in points
        if point.figure.low is not None and point.figure.high is not None
    )
    metric = history.metric
    unit = "" if metric.unit == "1/s" else f"{metric.unit}, "
    return Plot(
        heading=metric.label,
        unit=f"{unit}{'more' if metric.higher_is_better else 'less'} is better",
        description=f"{metric.label} over runs, {in_common(history.factors)}: {'; '.join(_told(history))}",
        ticks=scale.ticks,
        columns=columns,
        lines=lines,
        intervals=tuple(intervals),
        turns=_turns(runs, labels, xs),
        width=_FRAME.width,
    )


def _extent(point: Point) -> Iterator[float]:
    """Yield what the scale must hold of a point."""
    for each in (point.figure.estimate, point.figure.low, point.figure.high):
        if each is not None:
            yield each


def _told(history: History) -> Iterator[str]:
    """Say each line in words."""
    for line in history.lines:
        figures = (
            f"{number(point.figure.estimate)} in {point.run.id}{', where a gate failed' if point.failed_gates else ''}"
            for point in line.points
        )
        yield f"{line.name}: {', '.join(figures)}"


def _labels(runs: Sequence[Point]) -> dict[str, str]:
    """Name each run by when it began; one that began in the same minute as another has a number besides."""
    labels: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for point in runs:
        label = f"{point.started_at:%Y-%m-%d %H:%M}"
        seen[label] += 1
        labels[point.run.id] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels


def _turns(runs: Sequence[Point], labels: Mapping[str, str], xs: Mapping[str, float]) -> tuple[Turn, ...]:
    """Return where the version is another than in the run before, half-way between the two."""
    shown = [point for point in runs if labels[point.run.id] in xs]
    found = {
        head.run.id: ((xs[labels[base.run.id]] + xs[labels[head.run.id]]) / 2, head.version[:VERSION_LENGTH])
        for base, head in pairwise(shown)
        if base.version != head.version
    }
    labelled = with_room({run_id: x for run_id, (x, _) in found.items()}, _VERSIONS_APART)
    return tuple(Turn(version, run_id in labelled, round(x, 1)) for run_id, (x, version) in found.items())
