"""A figure over runs: a line for each machine and target, with the interval of each run's figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from wirebench.report.charts.style import styles_of
from wirebench.report.numbers import number
from wirebench.stats.history import History
from wirebench.stats.names import in_common
from wirebench.web.charts.plot import Frame, Interval, LinearScale, Plot, lay_out

#: So wide that dates stand side by side.
_FRAME = Frame(width=1080, inset=42, labels_apart=84)


def draw(history: History) -> Plot:
    """Lay out the runs in the order of their time, as far apart as each other; the scale needn't begin at 0."""
    runs = sorted({(point.started_at, point.run.id) for line in history.lines for point in line.points})
    last = max(len(runs) - 1, 1)
    labels = _labels(runs)
    places = {label: index / last for index, label in enumerate(labels.values())}
    looks = styles_of((line.name, str(history.factors["transport"])) for line in history.lines)
    points = [(looks[line.name], labels[point.run.id], point.figure) for line in history.lines for point in line.points]
    scale = LinearScale.around(
        [each for _, _, figure in points for each in (figure.estimate, figure.low, figure.high) if each is not None]
    )
    series = [
        (looks[line.name], {labels[point.run.id]: point.figure.estimate for point in line.points})
        for line in history.lines
    ]
    columns, lines = lay_out(series, places, scale, _FRAME)
    xs = {column.label: column.x for column in columns}
    intervals = (
        Interval(style, xs[label], scale.y(figure.low), scale.y(figure.high))
        for style, label, figure in points
        if figure.low is not None and figure.high is not None
    )
    metric = history.metric
    unit = "" if metric.unit == "1/s" else f"{metric.unit}, "
    told = (
        f"{line.name}: {', '.join(f'{number(point.figure.estimate)} in {point.run.id}' for point in line.points)}"
        for line in history.lines
    )
    return Plot(
        heading=metric.label,
        unit=f"{unit}{'more' if metric.higher_is_better else 'less'} is better",
        description=f"{metric.label} over runs, {in_common(history.factors)}: {'; '.join(told)}",
        ticks=scale.ticks,
        columns=columns,
        lines=lines,
        intervals=tuple(intervals),
        width=_FRAME.width,
    )


def _labels(runs: Iterable[tuple[datetime, str]]) -> dict[str, str]:
    """Name each run by when it began; one that began in the same minute as another has a number besides."""
    labels: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for at, run_id in runs:
        label = f"{at:%Y-%m-%d %H:%M}"
        seen[label] += 1
        labels[run_id] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return labels
