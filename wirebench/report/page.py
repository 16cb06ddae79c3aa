"""The page: everything the template shows, gathered from a run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from wirebench.report import calls, ladder, operations, over, over_time
from wirebench.report.charts.forest import INSTRUMENT_LANES, Forest, Lane
from wirebench.report.charts.style import Style, styles
from wirebench.report.facts import Facts, command, facts
from wirebench.report.gates import FailedGate, failed_gates
from wirebench.report.groups import group
from wirebench.report.ladder import LadderShown
from wirebench.report.latencies import read_latencies
from wirebench.report.operations import OperationRow
from wirebench.report.over import Chapter
from wirebench.report.picture import Picture, bars_of, curves
from wirebench.report.streams import Streams, make_streams
from wirebench.report.table import Table, make_table
from wirebench.report.templates import LOOK, environment
from wirebench.stats import METRICS, CellSummary, Comparison, Verdict, conclude, names, remarks, summarise, words
from wirebench.stats.parts import doubts
from wirebench.store import Run

_FOLDER = Path(__file__).parent


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
    #: What all cells are alike in.
    throughout: str
    summary: tuple[str, ...]
    caveat: str
    #: What makes the figures less sure.
    doubts: tuple[str, ...]
    claims: Mapping[str, Sequence[Claim]]
    forest: Forest
    agreement: tuple[str, ...]
    instruments: Mapping[str, Sequence[Claim]]
    instrument_forest: Forest
    disruptions: tuple[str, ...]
    proxy_cost: str
    uneven_workers: str
    legend: tuple[Style, ...]
    latency: tuple[Picture, ...]
    throughput: tuple[Picture, ...]
    throughput_is_log: bool
    cpu: tuple[Picture, ...]
    cpu_is_log: bool
    ladders: tuple[LadderShown, ...]
    over: tuple[Chapter, ...]
    calls: tuple[Picture, ...]
    over_time: tuple[Picture, ...]
    operations: Mapping[str, Sequence[OperationRow]]
    operation_headings: tuple[tuple[str, str], ...]
    operation_pictures: tuple[Picture, ...]
    #: None without streams, which stand in no other part of the page but for verdicts and gates.
    streams: Streams | None
    table: Table
    failed_gates: tuple[FailedGate, ...]
    errors: tuple[CellError, ...]
    unreadable: tuple[str, ...]
    facts: tuple[Facts, ...]


def render(run: Run) -> str:
    """Return the report of a run as HTML."""
    css = LOOK.read_text(encoding="utf-8") + (_FOLDER / "report.css").read_text(encoding="utf-8")
    template = environment().get_template("report.html.j2")
    return template.render(page=gather(run), css=Markup(css))  # noqa: S704 - our own


def gather(run: Run) -> Page:
    """Work out all that the page shows."""
    cells = summarise(run.records)
    groups = group(cells, run.info.compare)
    comparisons = conclude(run)
    judged = [comparison for comparison in comparisons if not comparison.instruments]
    forest = Forest.of(judged, run.info.equivalence_margin)
    instruments = [comparison for comparison in comparisons if comparison.instruments]
    instrument_forest = Forest.of(instruments, run.info.equivalence_margin, INSTRUMENT_LANES)
    looks = styles(itertools.chain(*groups.values()))
    of_requests = {title: members for title, members in groups.items() if not members[0].has_streams}
    of_streams = {title: members for title, members in groups.items() if members[0].has_streams}
    latencies, unreadable = read_latencies(run, itertools.chain(*of_requests.values()))
    streams = make_streams(run, of_streams, looks)
    throughput, throughput_is_log = bars_of(METRICS["throughput"], of_requests, looks)
    cpu, cpu_is_log = bars_of(METRICS["cpu"], of_requests, looks)
    return Page(
        run=run,
        command=command(run.info),
        throughout=remarks.throughout(cells),
        summary=tuple(names.capitalised(sentence) for sentence in words.summary(judged)),
        caveat=words.caveat(comparisons),
        doubts=doubts(run),
        claims=_claims(judged, forest),
        forest=forest,
        agreement=tuple(
            names.capitalised(sentence) for sentence in (*words.cross_checks(judged), *words.agreement(instruments))
        ),
        instruments=_claims(instruments, instrument_forest),
        instrument_forest=instrument_forest,
        disruptions=remarks.disruptions(cells),
        proxy_cost=remarks.proxy_cost(cells),
        uneven_workers=remarks.uneven_workers(cells),
        legend=tuple(looks.values()),
        latency=curves("Latency", of_requests, looks, latencies),
        throughput=throughput,
        throughput_is_log=throughput_is_log,
        cpu=cpu,
        cpu_is_log=cpu_is_log,
        ladders=ladder.shown(cells, looks, run.info.equivalence_margin),
        over=over.chapters(cells),
        calls=calls.pictures(run, groups, looks),
        over_time=over_time.pictures(of_requests, looks),
        operations=operations.rows(of_requests, latencies),
        operation_headings=operations.HEADINGS,
        operation_pictures=operations.pictures(of_requests, looks),
        streams=streams,
        table=make_table(of_requests, latencies),
        failed_gates=failed_gates(cells),
        errors=tuple(_errors(cells)),
        unreadable=(*unreadable, *streams.unreadable) if streams else unreadable,
        facts=facts(run),
    )


def _claims(comparisons: Sequence[Comparison], forest: Forest) -> dict[str, list[Claim]]:
    claims: dict[str, list[Claim]] = {}
    for comparison in comparisons:
        claim = Claim(comparison.verdict, names.capitalised(words.claim(comparison)), forest.lanes(comparison))
        claims.setdefault(words.situation(comparison), []).append(claim)
    return claims


def _errors(cells: Sequence[CellSummary]) -> list[CellError]:
    """List each cell's errors, the most frequent first."""
    return [CellError(cell.full_name, str(error)) for cell in cells for error in cell.errors]
