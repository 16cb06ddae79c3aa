"""A figure over runs: a line a machine and target, intervals, failed gates, and where the version is another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from wirebench.report.charts.style import Style, styles_of
from wirebench.report.numbers import number
from wirebench.stats.history import History, Point
from wirebench.stats.names import in_common
from wirebench.web.charts.plot import Frame, Interval, LinearScale, Plot, Turn, lay_out, with_room

#: So wide that dates stand side by side.
_FRAME = Frame(width=1080, inset=42, labels_apart=84)
#: So many characters tell a version from another.
VERSION_LENGTH = 12


def styles(history: History) -> dict[str, Style]:
    """Give each line its look, by its name. All have filled marks: a hollow one is that of a run whose gate failed."""
    looks = styles_of((line.name, str(history.factors["transport"])) for line in history.lines)
    return {name: replace(style, hollow=False) for name, style in looks.items()}


def draw(history: History) -> Plot:
    """Lay out the runs in the order of their time, as far apart as each other; the scale needn't begin at 0."""
    runs = sorted(
        (point for line in history.lines for point in line.points), key=lambda point: (point.started_at, point.run.id)
    )
    labels = _labels(runs)
    looks = styles(history)
    points = [(looks[line.name], labels[point.run.id], point) for line in history.lines for point in line.points]
    scale = LinearScale.around([each for _, _, point in points for each in _extent(point)])
    series = [
        (looks[line.name], {labels[point.run.id]: point.figure.estimate for point in line.points})
        for line in history.lines
    ]
    last = max(len(labels) - 1, 1)
    places = {label: index / last for index, label in enumerate(labels.values())}
    unfit = {(style, label) for style, label, point in points if point.failed_gates}
    columns, lines = lay_out(series, places, scale, _FRAME, unfit)
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
    labelled = with_room({run_id: x for run_id, (x, _) in found.items()}, _FRAME.labels_apart)
    return tuple(Turn(version, run_id in labelled, round(x, 1)) for run_id, (x, version) in found.items())
