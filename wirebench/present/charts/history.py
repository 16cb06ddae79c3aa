"""A figure over runs: a line a machine and target, intervals, failed gates, other versions, and changes of level."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from wirebench.analysis.change_points import LineChanges
from wirebench.analysis.history import History, HistoryPoint
from wirebench.model.labels import describe_factors
from wirebench.present.charts import file
from wirebench.present.charts.file import Panel
from wirebench.present.charts.plot import LevelMark, Mark, Plot, PlotFrame, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style, assign_styles_to_lines
from wirebench.present.charts.svg import Chart, Drawing
from wirebench.present.level_changes import VERSION_LENGTH, name_direction
from wirebench.present.numbers import format_number
from wirebench.present.sentences import format_estimate

#: The date and time of a run take so much room below it.
_LABEL_WIDTH = 112
_INSET = 42
_FILE_WIDTH = 760
_CAPTION = "; hollow: a gate failed; dotted: another version from here on"
_CAPTION_OF_CHANGES = "; dashed, with a ratio: another level from here on"


def draw(history: History, width: int, changes: Sequence[LineChanges] = ()) -> Chart:
    """Draw the runs in the order of their time, as far apart as each other; the scale needn't begin at 0.

    `changes` are those of the history's levels that are marked.
    """
    runs = sorted(
        (point for line in history.lines for point in line.points), key=lambda point: (point.started_at, point.run.id)
    )
    places = {point.run.id: float(place) for place, point in enumerate(runs)}
    styles = legend(history)
    series = [
        PlotSeries(
            styles[line.name],
            [
                Mark(
                    places[point.run.id], point.figure.estimate, not point.failed_gates, interval=point.figure.interval
                )
                for point in line.points
            ],
        )
        for line in history.lines
    ]
    frame = PlotFrame(width=width, inset=_INSET, labels_apart=_LABEL_WIDTH)
    scale = Scale.around([each for point in runs for each in (point.figure.estimate, *(point.figure.interval or ()))])
    labels = dict(reversed(list(zip(places.values(), _make_labels(runs), strict=True))))  # the newest has room
    turns = {
        places[head.run.id] - 0.5: head.version[:VERSION_LENGTH]
        for base, head in itertools.pairwise(runs)
        if base.version != head.version
    }
    metric = history.metric
    steps = [
        LevelMark(
            places[change.first.run.id] - 0.5,
            styles[of.line.name],
            f"{format_estimate(change.ratio)}: {name_direction(change, metric)}",
        )
        for of in changes
        for change in of.changes
    ]
    title = f"{metric.label} over runs, {describe_factors(history.factors)}"
    svg = Plot(scale, (0, len(runs) - 1), labels, frame).draw(
        title, "; ".join(_describe(history)), series, turns, steps
    )
    return Chart(metric.label, metric.caption, svg)


def arrange(histories: Sequence[History], changes: Sequence[Sequence[LineChanges]] = ()) -> Drawing:
    """Put histories below each other into one drawing, each with its legend and a scale of its own.

    `changes` are those of each history, if they are marked.
    """
    panels = []
    for each, of_each in zip(histories, changes or [()] * len(histories), strict=True):
        chart = draw(each, _FILE_WIDTH, of_each)
        panels.append(
            Panel(f"{describe_factors(each.factors)}: {each.metric.heading}", tuple(legend(each).values()), chart.svg)
        )
    metric = histories[0].metric
    caption = f"upright: {metric.spread}{_CAPTION}{_CAPTION_OF_CHANGES if changes else ''}"
    return file.arrange(f"{metric.label} over runs", panels, caption)


def legend(history: History) -> dict[str, Style]:
    return assign_styles_to_lines(line.name for line in history.lines)


def _describe(history: History) -> Iterator[str]:
    return (f"{line.name}: {', '.join(map(_describe_point, line.points))}" for line in history.lines)


def _describe_point(point: HistoryPoint) -> str:
    failed = ", where a gate failed" if point.failed_gates else ""
    return f"{format_number(point.figure.estimate)} in {point.run.id}{failed}"


def _make_labels(runs: Sequence[HistoryPoint]) -> Iterator[str]:
    """Name each run by when it began; one that began in the same minute as another has a number besides."""
    seen: Counter[str] = Counter()
    for point in runs:
        label = f"{point.started_at:%Y-%m-%d %H:%M}"
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label} ({seen[label]})"
