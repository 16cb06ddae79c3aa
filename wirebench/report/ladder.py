"""The codec ladder in the report: what codec, framing and framework make of the difference between transports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.report.charts import steps
from wirebench.report.charts.style import Style
from wirebench.report.picture import Picture
from wirebench.stats import METRICS, CellSummary, Ladder, ladders
from wirebench.stats.names import gate_name, load
from wirebench.stats.words import interval

_DRAWN = {"cpu": "server CPU, ms a request", "p50": "median latency, ms"}


@dataclass(frozen=True, slots=True)
class LadderShown:
    """One ladder: a sentence a step, and its pictures."""

    title: str
    sentences: tuple[str, ...]
    pictures: tuple[Picture, ...]


def shown(cells: Sequence[CellSummary], looks: Mapping[str, Style], margin: float) -> tuple[LadderShown, ...]:
    """Return all ladders among the cells."""
    return tuple(_shown(index, ladder, looks) for index, ladder in enumerate(ladders(cells, margin)))


def _shown(index: int, ladder: Ladder, looks: Mapping[str, Style]) -> LadderShown:
    title = load(ladder.rungs[0].cell.factors)
    return LadderShown(title, tuple(_sentences(ladder)), tuple(_pictures(index, title, ladder, looks)))


def _sentences(ladder: Ladder) -> list[str]:
    sentences = []
    for rung in ladder.rungs[1:]:
        parts = [
            f"{interval(rung.ratios[name])} {what}{_doubt(rung.failed_gates[name])}"
            for name, what in _THE.items()
            if name in rung.ratios
        ]
        sentences.append(f"{rung.step[:1].upper()}{rung.step[1:]}: {', '.join(parts) or 'not measured'}.")
    return sentences


def _doubt(failed: Sequence[str]) -> str:
    return f" (don't rely on it: {', '.join(map(gate_name, failed))})" if failed else ""


_THE = {"cpu": "the server CPU per request", "p50": "the p50", "throughput": "the requests/s"}


def _pictures(index: int, title: str, ladder: Ladder, looks: Mapping[str, Style]) -> list[Picture]:
    pictures = []
    for name, heading in _DRAWN.items():
        values = ladder.values(METRICS[name])
        rows = [
            steps.Step(looks[rung.cell.name], value, rung.step)
            for rung, value in zip(ladder.rungs, values, strict=False)
        ]
        if rows:
            svg = steps.draw(f"ladder-{name}-{index}", f"{heading}, {title}", rows)
            pictures.append(Picture(f"{heading}: {title}", svg))
    return pictures
