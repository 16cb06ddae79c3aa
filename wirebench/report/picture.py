"""Charts with their titles: one of each kind for each group of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wirebench.report.charts import bars, latency
from wirebench.report.charts.style import Style
from wirebench.report.latencies import CellLatency
from wirebench.report.numbers import number
from wirebench.stats import CellSummary, Metric

#: Cells by what they have in common: their operation and load.
Groups = Mapping[str, Sequence[CellSummary]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title."""

    title: str
    svg: Markup


def curves(
    what: str,
    groups: Groups,
    looks: Mapping[str, Style],
    latencies: Mapping[str, CellLatency],
    *,
    shared: bool = True,
) -> tuple[Picture, ...]:
    """Draw what the cells of each group have by percentile: those that have enough of it.

    All pictures share their scales, or else each has its own.
    """
    pictures = []
    for index, (title, cells) in enumerate(groups.items()):
        drawn = [
            (looks[cell.name], latencies[cell.cell])
            for cell in cells
            if cell.cell in latencies and latencies[cell.cell].curve
        ]
        within = latency.extent(tuple(latencies.values() if shared else (each for _, each in drawn)))
        if drawn and within:
            figures = "; ".join(f"{style.name} {_quantiles(each)}" for style, each in drawn)
            name = f"{what.lower().replace(' ', '-')}-{index}"
            svg = latency.draw(name, f"{what} by percentile, {title}: {figures}", drawn, within)
            pictures.append(Picture(title, svg))
    return tuple(pictures)


def _quantiles(latency: CellLatency) -> str:
    named = {"p50": latency.quantile_ms(0.5), "p99": latency.quantile_ms(0.99)}
    return ", ".join(f"{name} {number(value)} ms" for name, value in named.items() if value is not None)


def bars_of(
    metric: Metric, groups: Groups, looks: Mapping[str, Style], *, shared: bool = True
) -> tuple[tuple[Picture, ...], bool]:
    """Draw a metric's charts, where it was measured; and say whether a scale is logarithmic.

    All pictures share their scale, or else each has its own.
    """
    drawn: dict[str, list[bars.Bar]] = {}
    for title, cells in groups.items():
        for cell in cells:
            if (typical := cell.typical(metric)) is not None:
                blocks = tuple(cell.by_block(metric).values())
                bar = bars.Bar(looks[cell.name], typical, blocks, fit=not cell.failed_gates(metric))
                drawn.setdefault(title, []).append(bar)
    everything = [bar for group in drawn.values() for bar in group]
    pictures, is_log = [], False
    for index, (title, group) in enumerate(drawn.items()):
        on = bars.scale(everything if shared else group)
        is_log = is_log or on.is_log
        figures = "; ".join(f"{bar.style.name} {number(bar.typical)}" for bar in group)
        description = f"{metric.label}, {title}: {figures}"
        pictures.append(Picture(title, bars.draw(f"{metric.name}-{index}", description, group, on)))
    return tuple(pictures), is_log
