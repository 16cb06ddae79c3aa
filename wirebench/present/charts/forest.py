"""The forest plot: a comparison's ratios and their intervals on the log scale that all comparisons of a page share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from wirebench.analysis.pair import CellPair
from wirebench.analysis.ratio import Ratio
from wirebench.model.metric import CAPACITIES, METRICS
from wirebench.present import sentences
from wirebench.present.charts.bars import AXIS_HEIGHT, Track
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.svg import WIDTH, Chart, Drawing, element, text
from wirebench.present.numbers import format_number

#: The metrics of a comparison that are drawn.
LANES = ("throughput", *CAPACITIES, "p99", "cpu", "item_rate", "first_item", "item_cpu")

_LEAST_REACH = 1.5
_ROOM = 1.2
_ROW_HEIGHT = 20
_LABEL_WIDTH, _MARGIN = 84, 12
_DOT_RADIUS = 3.5


def draw_forests(pairs: Sequence[CellPair], margin: float) -> dict[str, list[Chart]]:
    """Draw the ratios of pairs of cells on one scale, by situation, with the band of those that make no difference.

    The scale reaches as far as the ratios do; intervals may be much wider, and are cut off.
    """
    estimates = [ratio.estimate for each in pairs for ratio in _find_lanes(each).values()]
    low, high = min([1 / _LEAST_REACH, *estimates]), max([_LEAST_REACH, *estimates])
    track = Track(Scale(low / _ROOM, high * _ROOM, is_log=True), _LABEL_WIDTH, WIDTH - _MARGIN)
    drawn: dict[str, list[Chart]] = {}
    for each in pairs:
        if lanes := _find_lanes(each):
            situation, name = sentences.locate_pair(each)
            drawn.setdefault(situation, []).append(Chart(name, "", _draw_pair(each, lanes, track, margin)))
    return drawn


def _find_lanes(pair: CellPair) -> dict[str, Ratio]:
    """Return the ratios that are drawn of two cells; the server's CPU is no reading of its drivers."""
    names = sentences.INSTRUMENT_METRICS if pair.instruments else LANES
    return {name: pair.ratios[name] for name in names if name in pair.ratios}


def _draw_pair(pair: CellPair, lanes: Mapping[str, Ratio], track: Track, margin: float) -> Drawing:
    """Draw the ratios of two cells, that of the verdict bold."""
    bottom = _ROW_HEIGHT * len(lanes)
    low, high = track.x(1 / (1 + margin)), track.x(1 + margin)
    band = element("rect", class_="band", x=low, y=0, width=high - low, height=bottom)
    rows = []
    for index, (name, ratio) in enumerate(lanes.items()):
        metric = METRICS[name]
        # An arrow to the side that is better; of two drivers of one service neither is.
        arrow = "" if pair.instruments else f" {'→' if metric.higher_is_better else '←'}"
        y, is_fit = (index + 0.5) * _ROW_HEIGHT, not pair.list_failed_gates(name)
        judged = " judged" if name == pair.metric.name else ""
        parts = _draw_lane(f"{metric.column}{arrow}", ratio, track, y, is_fit=is_fit)
        rows.append(element("g", *parts, class_=f"lane{judged}"))
    description = "; ".join(
        f"{METRICS[name].column} ({METRICS[name].better}) {format_number(ratio.estimate)}×"
        for name, ratio in lanes.items()
    )
    axis = track.draw_axis({tick: f"{label}×" for tick, label in track.scale.ticks().items()}, bottom)
    return Drawing("forest", "Ratios", description, (WIDTH, bottom + AXIS_HEIGHT), (band, *axis, *rows))


def _draw_lane(label: str, ratio: Ratio, track: Track, y: float, *, is_fit: bool) -> Iterator[Markup]:
    yield text(0, y + 4, label, "label")
    if interval := ratio.interval:
        yield from track.draw_interval(interval, y)
    yield element("circle", class_="dot" if is_fit else "dot unfit", cx=track.x(ratio.estimate), cy=y, r=_DOT_RADIUS)
