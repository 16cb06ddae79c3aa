"""The codec ladder in the report: what codec, framing and framework make of the difference between transports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wirebench.analysis.ladder import Ladder, find_ladders
from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import describe_situation, name_gate
from wirebench.model.metric import METRICS
from wirebench.model.run_info import RunInfo
from wirebench.present.charts.bars import StepBar, draw_steps
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart
from wirebench.present.picture import ChartSection
from wirebench.present.sentences import format_interval

_DRAWN = ("cpu", "p50")
_JUDGED = ("cpu", "p50", "throughput")


def make_ladders(cells: Sequence[CellSummary], styles: Mapping[str, Style], info: RunInfo) -> tuple[ChartSection, ...]:
    """Return a sentence a step of each ladder, and its charts."""
    ladders = find_ladders(cells, info.equivalence_margin)
    return tuple(_make_section(each, styles) for each in ladders)


def _make_section(ladder: Ladder, styles: Mapping[str, Style]) -> ChartSection:
    title = describe_situation(ladder[0].cell.factors)
    charts = tuple(_draw_charts(title, ladder, styles))
    return ChartSection(title, charts, sentences=tuple(_write_sentences(ladder)))


def _write_sentences(ladder: Ladder) -> Iterator[str]:
    for rung in ladder[1:]:
        parts = []
        for name in filter(rung.ratios.__contains__, _JUDGED):
            failed = ", ".join(map(name_gate, rung.failed_gates[name]))
            doubt = f" (unreliable: {failed})" if failed else ""
            parts.append(f"{format_interval(rung.ratios[name])} the {METRICS[name].label}{doubt}")
        yield f"{rung.step[:1].upper()}{rung.step[1:]}: {', '.join(parts) or 'not measured'}."


def _draw_charts(title: str, ladder: Ladder, styles: Mapping[str, Style]) -> Iterator[Chart]:
    for metric in map(METRICS.__getitem__, _DRAWN):
        rows = [
            StepBar(styles[rung.cell.name], value, rung.step)
            for rung in ladder
            if (value := rung.cell.figure(metric)) is not None
        ]
        if len(rows) == len(ladder):
            yield Chart(f"{metric.heading}: {title}", "", draw_steps(f"{metric.heading}, {title}", rows))
