"""One finding: what the run in a bundle says about its scenario's question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.errors import UsageError
from wirebench.model.labels import name_gate, pluralise
from wirebench.model.metric import METRICS, Metric
from wirebench.present.caveats import list_caveats
from wirebench.present.charts import file as chart_file
from wirebench.present.charts.file import Panel
from wirebench.present.charts.style import assign_styles
from wirebench.present.facts import make_repeat_command
from wirebench.present.numbers import format_metric
from wirebench.present.remarks import list_notes, write_answer
from wirebench.present.run_charts import draw_run
from wirebench.present.sentences import describe_agreement, describe_comparison, describe_verdict
from wirebench.report.ladder import make_ladders
from wirebench.results.bundle.importing import unpack
from wirebench.results.bundle.write import SUFFIX
from wirebench.results.runs import Run

#: A sentence for each verdict would be a report, which the bundle has.
_FIGURES_MAX = 3
_CAVEATS_MAX = 3
_PANELS_MAX = 2
_DECIDED = ("faster", "slower", "equivalent")


@dataclass(frozen=True)
class Finding:
    """A run, and the bundle that it is in."""

    run: Run
    digest: str
    bundle: Path

    @property
    def scenario(self) -> str:
        """The name of its scenario."""
        return self.run.info.scenario

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return make_repeat_command(self.run.info)

    @property
    def size_kib(self) -> int:
        """The size of the bundle."""
        return round(self.bundle.stat().st_size / 1024)

    @cached_property
    def cells(self) -> Sequence[CellSummary]:
        """Its cells, over all blocks."""
        return summarise(self.run.records, self.run.info.compare)

    @cached_property
    def comparisons(self) -> Sequence[Comparison]:
        """What was compared, drivers of the same cell left out."""
        return [each for each in find_comparisons(self.run) if not each.instruments]

    @property
    def answer(self) -> Sequence[str]:
        """What the report says first, and the steps of a codec ladder; of drivers alone, how far they agree."""
        ladders = make_ladders(self.cells, assign_styles(self.cells), self.run.info)
        steps = [f"{ladder.heading}. {sentence}" for ladder in ladders for sentence in ladder.sentences]
        answer = (*steps, *write_answer(self.run, self.comparisons))
        return answer or describe_agreement(find_comparisons(self.run))

    @property
    def figures(self) -> Sequence[str]:
        """The decided comparisons that differ most and least, with their intervals, unless the answer has them."""
        decided = [each for each in self.comparisons if each.verdict in _DECIDED]
        decided.sort(key=lambda each: -abs(math.log(each.ratios[each.metric.name].estimate)))
        shown = decided if len(decided) <= _FIGURES_MAX else [decided[0], *decided[-(_FIGURES_MAX - 1) :]]
        answer = self.answer
        return [each for each in map(describe_comparison, shown) if each not in answer]

    @property
    def limitations(self) -> Iterator[str]:
        """What it doesn't say: verdicts that were withheld or undecided, and caveats."""
        if undecided := sum(each.verdict not in _DECIDED for each in self.comparisons):
            yield f"Undecided or without a verdict: {undecided} of {pluralise(len(self.comparisons), 'comparison')}."
        caveats = list_caveats(self.run)
        yield from caveats[:_CAVEATS_MAX]
        if len(caveats) > _CAVEATS_MAX:
            yield f"{len(caveats) - _CAVEATS_MAX} more caveats are in the report."
        yield from list_notes(self.cells)

    def draw(self, question: str, folder: Path) -> str:
        """Write its picture, under its question, and return the file's name."""
        charts = draw_run(self.run, self.cells, 0)
        shared = charts.answer.legend or charts.legend
        panels = [Panel(chart.title, shared, chart.svg, chart.unit) for chart in charts.answer.charts[:_PANELS_MAX]]
        name = f"{self.scenario}.svg"
        drawing = chart_file.arrange(question, panels, f"run {self.run.info.id}", columns=_PANELS_MAX)
        chart_file.write(drawing, folder / name)
        return name

    def compare(self, one: str, other: str, **factors: Any) -> str:  # noqa: ANN401 - levels of any factor
        """Say what was found of two levels of the compared factor, where other factors have these levels."""
        for each in self.comparisons:
            if {each.subject_level, each.baseline_level} == {one, other} and all(
                each.subject.factors[name] == level == each.baseline.factors[name] for name, level in factors.items()
            ):
                return describe_verdict(each)
        raise UsageError(
            f"{self.bundle.name} compares no {one} with {other} at {factors}", "correct the page's template"
        )

    def figure(self, metric: str, **factors: Any) -> str:  # noqa: ANN401 - levels of any factor
        """Return a cell's figure, with its unit if it has one, and the gates that failed for it."""
        cell, of = self._find_cell(factors), METRICS[metric]
        return f"{format_metric(of, cell.figure(of))} {of.unit_label}".rstrip() + _name_failed_gates(cell, of)

    def count_failures(self, **factors: Any) -> str:  # noqa: ANN401 - levels of any factor
        """Say how many of a cell's requests failed, and which gates: connections without a reply are no failures."""
        cell = self._find_cell(factors)
        failed, sent = (format_metric(METRICS[name], cell.figure(METRICS[name])) for name in ("errors", "requests"))
        return f"{failed} of {sent}{_name_failed_gates(cell, METRICS['throughput'])}"

    def _find_cell(self, factors: Mapping[str, Any]) -> CellSummary:
        for cell in self.cells:
            if all(cell.factors[name] == level for name, level in factors.items()):
                return cell
        raise UsageError(f"{self.bundle.name} has no cell of {factors}", "correct the page's template")


def _name_failed_gates(cell: CellSummary, metric: Metric) -> str:
    failed = [
        f"connections, {100 * gate.value:.0f} % of which got replies"
        if gate.name == "connections"
        else name_gate(gate.name)
        for gate in cell.failed_gates(metric)
    ]
    return f" (failed gates: {', '.join(failed)})" if failed else ""


def read_findings(folder: Path, into: Path) -> dict[str, Finding]:
    """Unpack the bundles of a folder, by scenario. Raises UsageError for two of one, or for what isn't a bundle."""
    found: dict[str, Finding] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        place = into / path.name
        place.mkdir()
        with path.open("rb") as stream:
            run, digest = unpack(stream, path.name, place)
        finding = Finding(run, digest, path)
        if other := found.get(finding.scenario):
            hint = f"keep one of them: {other.bundle.name} or {path.name}"
            raise UsageError(f"{folder} has two bundles of {finding.scenario}", hint)
        found[finding.scenario] = finding
    return found
