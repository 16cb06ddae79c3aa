"""The page: everything the template shows, gathered from a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from wirebench.report import calls, ladder, operations, over
from wirebench.report.charts import bars, latency
from wirebench.report.charts.forest import INSTRUMENT_LANES, Forest, Lane
from wirebench.report.charts.style import Style, styles
from wirebench.report.facts import Facts, command, facts
from wirebench.report.gates import FailedGate, failed_gates
from wirebench.report.ladder import LadderShown
from wirebench.report.latencies import CellLatency, read_latencies
from wirebench.report.numbers import moment, number
from wirebench.report.operations import OperationRow
from wirebench.report.over import Chapter
from wirebench.report.picture import Picture
from wirebench.report.table import Table, make_table
from wirebench.stats import METRICS, CellSummary, Comparison, Metric, Verdict, compare, summarise, words
from wirebench.store import Run

_FOLDER = Path(__file__).parent
_INTERVAL = re.compile(r"(\(95 % CI [^()]*\))")

#: Cells by what they have in common: their operation and load.
Groups = Mapping[str, Sequence[CellSummary]]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one comparison supports, in a sentence and as a picture."""

    verdict: Verdict
    text: str
    lanes: Sequence[Lane]


@dataclass(frozen=True, slots=True)
class CellError:
    """An error that requests of a cell met."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows."""

    run: Run
    command: str
    summary: tuple[str, ...]
    caveat: str
    claims: Mapping[str, Sequence[Claim]]
    forest: Forest
    agreement: tuple[str, ...]
    instruments: Mapping[str, Sequence[Claim]]
    instrument_forest: Forest
    disruptions: tuple[str, ...]
    proxy_cost: str
    legend: tuple[Style, ...]
    latency: tuple[Picture, ...]
    throughput: tuple[Picture, ...]
    throughput_is_log: bool
    cpu: tuple[Picture, ...]
    cpu_is_log: bool
    ladders: tuple[LadderShown, ...]
    over: tuple[Chapter, ...]
    calls: tuple[Picture, ...]
    operations: Mapping[str, Sequence[OperationRow]]
    operation_headings: tuple[tuple[str, str], ...]
    operation_pictures: tuple[Picture, ...]
    table: Table
    failed_gates: tuple[FailedGate, ...]
    errors: tuple[CellError, ...]
    unreadable: tuple[str, ...]
    facts: tuple[Facts, ...]


def render(run: Run) -> str:
    """Return the report of a run as HTML."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,  # a scenario's text and a service's messages are anybody's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"counted": words.counted, "dim_intervals": _dim_intervals, "moment": moment}
    css = (_FOLDER / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(page=gather(run), css=Markup(css))  # noqa: S704 - our own


def gather(run: Run) -> Page:
    """Work out all that the page shows."""
    cells = summarise(run.records)
    groups = _group(cells)
    comparisons = compare(cells, run.info.compare, run.info.equivalence_margin)
    judged = [comparison for comparison in comparisons if not comparison.instruments]
    forest = Forest.of(judged, run.info.equivalence_margin)
    instruments = [comparison for comparison in comparisons if comparison.instruments]
    instrument_forest = Forest.of(instruments, run.info.equivalence_margin, INSTRUMENT_LANES)
    looks = styles(cell for group in groups.values() for cell in group)
    latencies, unreadable = read_latencies(run, cells)
    throughput, throughput_is_log = _bars("throughput", groups, looks, METRICS["throughput"])
    cpu, cpu_is_log = _bars("cpu", groups, looks, METRICS["cpu"])
    return Page(
        run=run,
        command=command(run.info),
        summary=tuple(words.capitalised(sentence) for sentence in words.summary(judged)),
        caveat=words.caveat(comparisons),
        claims=_claims(judged, forest),
        forest=forest,
        agreement=tuple(words.capitalised(sentence) for sentence in words.agreement(instruments)),
        instruments=_claims(instruments, instrument_forest),
        instrument_forest=instrument_forest,
        disruptions=words.disruptions(cells),
        proxy_cost=words.proxy_cost(cells),
        legend=tuple(looks.values()),
        latency=_curves(groups, looks, latencies),
        throughput=throughput,
        throughput_is_log=throughput_is_log,
        cpu=cpu,
        cpu_is_log=cpu_is_log,
        ladders=ladder.shown(cells, looks),
        over=over.chapters(cells),
        calls=calls.pictures(run, groups, looks),
        operations=operations.rows(groups, latencies),
        operation_headings=operations.HEADINGS,
        operation_pictures=operations.pictures(groups, looks),
        table=make_table(groups, latencies),
        failed_gates=failed_gates(cells),
        errors=tuple(_errors(cells)),
        unreadable=unreadable,
        facts=facts(run),
    )


def _group(cells: Sequence[CellSummary]) -> dict[str, list[CellSummary]]:
    """Put together what can be compared; of each transport, the cell at its defaults comes first."""
    groups: dict[str, list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault(words.load(cell.factors), []).append(cell)
    for group in groups.values():
        transports = [cell.factors["transport"] for cell in group]
        group.sort(key=lambda cell: (transports.index(cell.factors["transport"]), len(words.cell_name(cell.factors))))
    return groups


def _claims(comparisons: Sequence[Comparison], forest: Forest) -> dict[str, list[Claim]]:
    claims: dict[str, list[Claim]] = {}
    for comparison in comparisons:
        claim = Claim(comparison.verdict, words.capitalised(words.claim(comparison)), forest.lanes(comparison))
        claims.setdefault(words.situation(comparison), []).append(claim)
    return claims


def _curves(groups: Groups, looks: Mapping[str, Style], latencies: Mapping[str, CellLatency]) -> tuple[Picture, ...]:
    within = latency.extent(tuple(latencies.values()))
    if within is None:
        return ()
    pictures = []
    for index, (title, cells) in enumerate(groups.items()):
        drawn = [
            (looks[words.cell_name(cell.factors)], latencies[cell.cell])
            for cell in cells
            if cell.cell in latencies and latencies[cell.cell].curve
        ]
        if drawn:
            figures = "; ".join(f"{style.name} {_quantiles(each)}" for style, each in drawn)
            svg = latency.draw(f"latency-{index}", f"Latency by percentile, {title}: {figures}", drawn, within)
            pictures.append(Picture(title, svg))
    return tuple(pictures)


def _quantiles(latency: CellLatency) -> str:
    named = {"p50": latency.quantile_ms(0.5), "p99": latency.quantile_ms(0.99)}
    return ", ".join(f"{name} {number(value)} ms" for name, value in named.items() if value is not None)


def _bars(name: str, groups: Groups, looks: Mapping[str, Style], metric: Metric) -> tuple[tuple[Picture, ...], bool]:
    """Draw a metric's charts, where it was measured; and say whether their scale is logarithmic."""
    drawn: dict[str, list[bars.Bar]] = {}
    for title, cells in groups.items():
        for cell in cells:
            if (typical := cell.typical(metric)) is not None:
                bar = bars.Bar(looks[words.cell_name(cell.factors)], typical, tuple(cell.by_block(metric).values()))
                drawn.setdefault(title, []).append(bar)
    if not drawn:
        return (), False
    on = bars.scale([bar for group in drawn.values() for bar in group])
    pictures = []
    for index, (title, group) in enumerate(drawn.items()):
        figures = "; ".join(f"{bar.style.name} {number(bar.typical)}" for bar in group)
        description = f"{metric.label}, {title}: {figures}"
        pictures.append(Picture(title, bars.draw(f"{name}-{index}", description, group, on)))
    return tuple(pictures), on.is_log


def _dim_intervals(sentence: str) -> Markup:
    """Mark a sentence's intervals, so that the page can set them apart and keep each on one line."""
    parts = _INTERVAL.split(sentence)
    parts[1::2] = [Markup("<small>{}</small>").format(interval) for interval in parts[1::2]]
    return Markup().join(parts)


def _errors(cells: Sequence[CellSummary]) -> list[CellError]:
    """List each cell's errors, the most frequent first."""
    return [CellError(words.full_name(cell.factors), str(error)) for cell in cells for error in cell.errors]
