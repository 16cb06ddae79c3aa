"""What a run comes to: at most three sentences, and what was found beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from wirebench.analysis.pair import Verdict
from wirebench.analysis.series import FactorSeries, find_series
from wirebench.analysis.summary import CellSummary
from wirebench.errors import pluralise
from wirebench.model.metric import METRICS
from wirebench.present.comparison import ComparisonView, describe_correction
from wirebench.present.labels import (
    capitalise,
    describe_situation,
    list_settings,
    name_fully_in_run,
    name_gate,
    name_in_run,
)
from wirebench.present.numbers import format_multiple

SENTENCES_MAX = 3
#: What a request or an item costs the server.
_COSTS = ("cpu", "item_cpu")


def summarise_run(cells: Sequence[CellSummary], views: Iterable[ComparisonView]) -> tuple[str, ...]:
    """Say who is faster, a sentence a pair; without any pair, how far drivers agree, or what a sweep has found."""
    judged: dict[tuple[str, str], list[ComparisonView]] = {}
    instruments: dict[tuple[str, str], list[ComparisonView]] = {}
    for view in views:
        (instruments if view.instruments else judged).setdefault((view.factor, view.label), []).append(view)
    pairs = judged or instruments
    sentences = [_summarise_pair(pair) for pair in pairs.values()] or list(describe_sweeps(cells))
    if len(sentences) > SENTENCES_MAX:
        more = len(sentences) - SENTENCES_MAX + 1
        sentences = [*sentences[: SENTENCES_MAX - 1], f"{more} more pairs are in the table."]
    return tuple(map(capitalise, sentences))


def list_findings(
    cells: Sequence[CellSummary], views: Sequence[ComparisonView], of_operations: Sequence[ComparisonView], margin: str
) -> Iterator[str]:
    """Yield what was found beside the answer: limits of sweeps and searches, and what verdicts are made with."""
    yield from describe_searches(cells)
    if views:
        yield from describe_sweeps(cells)
    yield from filter(None, (describe_correction(views), describe_correction(of_operations, "Those by operation")))
    if any(each.verdict == "equivalent" for view in (*views, *of_operations) for each in (view, *view.gains)):
        yield f"Differences within {margin} count as equivalent."


def describe_common_factors(cells: Sequence[CellSummary]) -> str:
    """Say what all cells of a run are alike in, and their names leave out: operation, load, what isn't the default."""
    if not cells:
        return ""
    factors, varied = cells[0].factors, cells[0].factors.keys() - cells[0].shared
    return ", ".join(filter(None, (describe_situation(factors, varied), *list_settings(factors, varied))))


def _summarise_pair(views: Sequence[ComparisonView]) -> str:
    first = views[0]
    if len(views) == 1:
        return first.sentence
    counts = Counter(view.verdict for view in views)
    where = "both situations" if len(views) == 2 else f"all {len(views)} situations"  # noqa: PLR2004
    if len(counts) == 1 and first.verdict != "withheld":
        return f"{first.statement} in {where}: {_format_ranges(views)}."
    verdicts = [f"{verdict} in {counts[verdict]}" for verdict in get_args(Verdict) if counts[verdict]]
    judged = [view for view in views if view.verdict != "withheld"]
    measured = f"; {_format_ranges(judged)}" if judged else ""
    return f"{first.label.replace(' / ', ' against ')}: {', '.join(verdicts)} of {len(views)} situations{measured}."


def _format_ranges(views: Sequence[ComparisonView]) -> str:
    """Say between which ratios the situations lie: of what each is judged by, and of the server's CPU."""
    parts = []
    for name in dict.fromkeys((*(view.metric for view in views), *_COSTS)):
        of = [view for view in views if name == view.metric or (name in _COSTS and not view.instruments)]
        estimates = [view.ratios[name].estimate for view in of if name in view.ratios]
        if estimates:
            ends = dict.fromkeys(format_multiple(end).removesuffix("×") for end in (min(estimates), max(estimates)))
            parts.append(f"{'–'.join(ends)}× the {METRICS[name].label}")
    return ", ".join(parts) or "nothing measured"


def describe_sweeps(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Say of each series over the concurrency what served the most, and which limit was reached first."""
    for series in find_series(cells, "concurrency"):
        first = series.cells[0]
        found = "; ".join(_describe_limits(series))
        yield f"{name_in_run(first)}, {describe_situation(first.factors, {'concurrency'})}: {found}."


def _describe_limits(series: FactorSeries) -> Iterator[str]:
    greatest = pluralise(int(series.levels[-1]), "connection")
    if series.most is None:
        yield f"not one request succeeded, up to {greatest}"
        return
    yield f"serves the most from {pluralise(int(series.most.factors['concurrency'] or 0), 'connection')} on"
    if series.first_broken is None:
        yield f"no limit was reached up to {greatest}"
        return
    cell, gate = series.first_broken
    error = f" ({cell.errors[0]})" if cell.errors and gate.name == "error_rate" else ""
    where = pluralise(int(cell.factors["concurrency"] or 0), "connection")
    yield f"the gate {name_gate(gate.name)} failed first at {where}{error}"


def describe_searches(cells: Iterable[CellSummary]) -> Iterator[str]:
    """Say what searches for the capacity looked for, and which of them found no rate in some block."""
    searched = {
        name_fully_in_run(cell): (cell, record.search) for cell in cells for record in cell.records if record.search
    }
    for _, asked in list(searched.values())[:1]:
        errors = f"{100 * asked.error_share:g} % errors"
        yield f"The capacity is the highest rate with a p99 of at most {asked.p99_ms:g} ms and at most {errors}."
    for name, (cell, _) in searched.items():
        if cell.unkept_searches:
            yield f"{name}: no capacity, as {cell.unkept_searches} of {len(cell.records)} blocks kept that at no rate."
