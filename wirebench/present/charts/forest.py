"""The forest plot: a comparison's ratios and their intervals on the log scale that all comparisons of a page share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wirebench.analysis.pair import CellPair
from wirebench.analysis.ratio import Ratio
from wirebench.model.metric import CAPACITIES, METRICS, Metric
from wirebench.present import sentences
from wirebench.present.charts.bars import AXIS_HEIGHT, Track
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.svg import WIDTH, Chart, Drawing, element, interval_of, text
from wirebench.present.numbers import format_number

#: The metrics of a comparison that are drawn.
LANES = ("throughput", *CAPACITIES, "p99", "cpu", "item_rate", "first_item", "item_cpu")

#: The same of two drivers of one cell: the server's CPU is no reading of theirs.
INSTRUMENT_LANES = sentences.INSTRUMENT_METRICS

_LEAST_REACH = 1.5
_ROOM = 1.2
_ROW_HEIGHT = 20
_LABEL_WIDTH, _MARGIN = 84, 12
_DOT_RADIUS = 3.5


@dataclass(frozen=True, slots=True)
class Forest:
    """The scale, the band around 1 in which ratios make no difference to the asker, and the names of the metrics."""

    scale: Scale
    margin: float
    metrics: Sequence[str]

    @classmethod
    def of(cls, comparisons: Iterable[CellPair], margin: float, metrics: Sequence[str] = LANES) -> Forest:
        """Reach as far as the ratios do; intervals may be much wider, and are cut off."""
        estimates = [ratio.estimate for each in comparisons for name, ratio in each.ratios.items() if name in metrics]
        low, high = min([1 / _LEAST_REACH, *estimates]), max([_LEAST_REACH, *estimates])
        return cls(Scale(low / _ROOM, high * _ROOM, is_log=True), margin, metrics)

    def draw(self, comparison: CellPair) -> Drawing | None:
        """Draw the ratios of a comparison, that of the verdict bold; None without any."""
        lanes = {name: ratio for name in self.metrics if (ratio := comparison.ratios.get(name))}
        if not lanes:
            return None
        track = Track(self.scale, _LABEL_WIDTH, WIDTH - _MARGIN)
        bottom = _ROW_HEIGHT * len(lanes)
        low, high = track.x(1 / (1 + self.margin)), track.x(1 + self.margin)
        band = element("rect", class_="band", x=low, y=0, width=high - low, height=bottom)
        rows = []
        for index, (name, ratio) in enumerate(lanes.items()):
            y = (index + 0.5) * _ROW_HEIGHT
            is_fit = not comparison.list_failed_gates(name)
            parts = _draw_lane(self._label(METRICS[name]), ratio, track, y, is_fit=is_fit)
            judged = " judged" if name == comparison.metric.name else ""
            rows.append(element("g", *parts, class_=f"lane{judged}"))
        description = "; ".join(
            f"{METRICS[name].column} ({METRICS[name].better}) {format_number(ratio.estimate)}×"
            for name, ratio in lanes.items()
        )
        ticks = {tick: f"{label}×" for tick, label in self.scale.ticks().items()}
        axis = track.draw_axis(ticks, bottom)
        return Drawing("forest", "Ratios", description, (WIDTH, bottom + AXIS_HEIGHT), (band, *axis, *rows))

    def _label(self, metric: Metric) -> str:
        """Name a lane, with an arrow to the side that is better; of two drivers of one service neither is."""
        if self.metrics is INSTRUMENT_LANES:
            return metric.column
        return f"{metric.column} {'→' if metric.higher_is_better else '←'}"


def draw_forests(pairs: Sequence[CellPair], margin: float, metrics: Sequence[str] = LANES) -> dict[str, list[Chart]]:
    """Draw the ratios of pairs of cells on one scale, by situation."""
    forest = Forest.of(pairs, margin, metrics)
    drawn: dict[str, list[Chart]] = {}
    for each in pairs:
        situation, name = sentences.locate_pair(each)
        if svg := forest.draw(each):
            drawn.setdefault(situation, []).append(Chart(name, "", svg))
    return drawn


def _draw_lane(label: str, ratio: Ratio, track: Track, y: float, *, is_fit: bool) -> Iterator[Markup]:
    yield text(0, y + 4, label, "label")
    if interval := interval_of(ratio):
        yield from track.draw_interval(interval, y)
    yield element("circle", class_="dot" if is_fit else "dot unfit", cx=track.x(ratio.estimate), cy=y, r=_DOT_RADIUS)
