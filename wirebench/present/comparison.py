"""Two cells that were compared, as one object with one sentence: terminal, pages, report and API show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wirebench.analysis.pair import Comparison, Verdict
from wirebench.analysis.ratio import BLOCKS_MIN, LEVEL, Ratio
from wirebench.analysis.significance import Significance
from wirebench.analysis.summary import CellSummary
from wirebench.errors import pluralise
from wirebench.model.cell import FACTORS
from wirebench.model.factor import Factors
from wirebench.model.metric import COMPARED, METRICS
from wirebench.model.record import Gate
from wirebench.present.labels import (
    OF_TRANSPORT,
    capitalise,
    describe_factors,
    describe_situation,
    list_settings,
    name_cell,
    name_gate,
    name_in_run,
    name_level,
)
from wirebench.present.numbers import format_interval

#: What is shown beside the metric that is judged.
_BESIDE = ("p99", "capacity", "item_rate", "first_item", "cpu", "item_cpu")

#: What is said of two sides, by verdict; None is of two drivers of one cell.
_STATEMENTS: dict[Verdict | None, str] = {
    "faster": "{subject} {be} faster than {baseline}",
    "slower": "{subject} {be} slower than {baseline}",
    "equivalent": "{subject} and {baseline} are equivalent",
    "inconclusive": "inconclusive between {subject} and {baseline}",
    "withheld": "no verdict on {subject} against {baseline}",
    None: "{subject} against {baseline} on the same service",
}
#: The same of what a step, such as from one worker to two, does for two services.
_GAIN_STATEMENTS: dict[Verdict | None, str] = {
    "faster": "the change does more for {subject} than for {baseline}",
    "slower": "the change does less for {subject} than for {baseline}",
    "equivalent": "the change does as much for {subject} as for {baseline}",
    "inconclusive": "inconclusive whether the change does more for {subject} or {baseline}",
    "withheld": "no verdict on whether the change does more for {subject} or {baseline}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """Two cells: ratios of subject to baseline, and what they support.

    The cells differ in `factor`, or are one cell in two runs: then subject is head's, and the factor is `run`.
    The verdict is on `metric`, and withheld for failed gates that it depends on and for other `reasons`. Two drivers of
    one cell (`instruments`) have none: their ratio is the instruments' error. `checks` are the comparisons of the same
    two services by other drivers, on which no verdict rests. `gains` compare what this step does with what it does for
    other services: the ratio of both ratios. `regressed` is slower beyond the margin, of which `p_value` is one-sided.
    """

    factor: str
    subject: str
    baseline: str
    #: What both share; the label names both sides: `gRPC / REST`.
    situation: str
    label: str
    drivers: tuple[str, ...]
    metric: str
    verdict: Verdict | None
    significance: Significance | None
    instruments: bool
    regressed: bool
    p_value: float | None
    ratios: dict[str, Ratio]
    #: Figures of both, by field.
    subject_figures: dict[str, float]
    baseline_figures: dict[str, float]
    failed_gates: tuple[str, ...]
    #: Gates that failed for a metric, those that withhold the verdict left out.
    doubts: dict[str, tuple[str, ...]]
    reasons: tuple[str, ...]
    #: `gRPC is faster than REST`; the sentence adds where, why and by how much.
    statement: str
    sentence: str
    #: What stands below the ratios in a table.
    remarks: tuple[str, ...]
    checks: tuple[ComparisonView, ...]
    gains: tuple[ComparisonView, ...]

    @property
    def shown_metrics(self) -> tuple[str, ...]:
        """The metrics whose ratios tables show: the one of the verdict, and those beside it."""
        return self.metric, *(name for name in _BESIDE if name != self.metric)

    @property
    def conclusion(self) -> str:
        """The sentence without the situation."""
        return self.sentence.removeprefix(f"{self.situation}: ")


def make_comparison_view(pair: Comparison, *, is_gain: bool = False) -> ComparisonView:
    """Describe two cells that were compared, or what a step does for two services."""
    factor, subject, baseline, situation, label = _describe_sides(pair)
    verdict = None if pair.instruments else pair.verdict
    statements = _GAIN_STATEMENTS if is_gain else _STATEMENTS
    is_plural = subject.split(" ", maxsplit=1)[0].isdigit() and not subject.startswith("1 ")
    statement = statements[verdict].format(subject=subject, baseline=baseline, be="are" if is_plural else "is")
    where = describe_factors(pair.subject.factors) if pair.factor == "run" else situation
    view = ComparisonView(
        factor=factor,
        subject=pair.subject.cell,
        baseline=pair.baseline.cell,
        situation=situation,
        label=label,
        drivers=tuple(dict.fromkeys(str(cell.factors["driver"]) for cell in (pair.subject, pair.baseline))),
        metric=pair.metric.name,
        verdict=verdict,
        significance=None if pair.instruments else pair.significance,
        instruments=pair.instruments,
        regressed=pair.regressed,
        p_value=pair.p_value,
        ratios=pair.ratios,
        subject_figures=_collect_figures(pair.subject),
        baseline_figures=_collect_figures(pair.baseline),
        failed_gates=tuple(gate.name for gate in pair.failed_gates),
        doubts=_find_doubts(pair),
        reasons=pair.reasons,
        statement=statement,
        sentence=f"{where}: {_write_conclusion(pair, statement, is_gain=is_gain)}",
        remarks=(),
        checks=tuple(map(make_comparison_view, pair.checks)),
        gains=tuple(make_comparison_view(gain, is_gain=True) for gain in pair.gains),
    )
    return replace(view, remarks=tuple(_list_remarks(pair, view)))


def _describe_sides(pair: Comparison) -> tuple[str, str, str, str, str]:
    """Return the factor, the names of both sides, under which title they stand, and under which name there.

    The title is what both share: the operation, the load, and what else isn't the default or the same in all cells.
    """
    cell, situation = pair.subject, describe_situation(pair.subject.factors)
    if pair.factor == "run":
        return pair.factor, "head", "base", situation, name_in_run(cell)
    factor = pair.factor
    subject, baseline = (name_side(factor, factors) for factors in (cell.factors, pair.baseline.factors))
    shared = describe_factors(cell.factors, factor, cell.factors.keys() - cell.shared)
    return factor, subject, baseline, shared, f"{subject} / {baseline}"


def name_side(factor: str, factors: Factors) -> str:
    """Name a cell among those that it is compared with by a factor."""
    if factor in ("transport", "variant"):
        return name_cell(factors, FACTORS.keys() - {*OF_TRANSPORT})
    runtime = list_settings(factors, FACTORS.keys() - {"runtime"}) if factor == "implementation" else ()
    return " with ".join((name_level(factor, factors), *runtime))


def _collect_figures(cell: CellSummary) -> dict[str, float]:
    return {metric.field: figure for metric in COMPARED.values() if (figure := cell.figure(metric)) is not None}


def _find_doubts(pair: Comparison) -> dict[str, tuple[str, ...]]:
    explained = set[str]() if pair.instruments else {gate.name for gate in pair.failed_gates}
    failed = {name: [gate.name for gate in pair.list_failed_gates(name)] for name in pair.ratios}
    return {
        metric: doubted
        for metric, names in failed.items()
        if (doubted := tuple(n for n in names if n not in explained))
    }


def _write_conclusion(pair: Comparison, statement: str, *, is_gain: bool) -> str:
    """Add to a statement why there is no verdict, or by how much the sides differ; a whole sentence."""
    if pair.verdict == "withheld" and not pair.instruments:
        statement += f" ({_explain_withheld(pair)})"
    ratio = pair.ratios.get(pair.metric.name)
    of = "ratio of the " if is_gain else ""
    measured = f"{format_interval(ratio)} the {of}{pair.metric.label}" if ratio else "nothing to compare"
    qualified = "".join(f", {words}" for words in _qualify(pair))
    return f"{statement}{qualified}: {measured}."


def _qualify(pair: Comparison) -> Iterator[str]:
    """Yield what else to know of the verdict on a cell in two runs."""
    if pair.regressed:
        yield "beyond the margin"
        if pair.failed_gates:
            yield f"and gave way under the load ({_explain_gates(pair.failed_gates)})"


def _explain_withheld(pair: Comparison) -> str:
    return "; ".join(filter(None, (*pair.reasons, _explain_gates(pair.failed_gates)))) or "nothing to compare"


def _explain_gates(failed: Iterable[Gate]) -> str:
    """Say which gates withhold a verdict, if any does, and of the driver's error how large it is."""
    by_name = {gate.name: gate for gate in failed}
    reasons = []
    if instrument := by_name.pop("instrument", None):
        reasons = [f"the driver's own error is up to {instrument.limit:.2g} ms, which may be all of the difference"]
    if by_name:
        reasons.insert(0, f"failed gates: {', '.join(map(name_gate, by_name))}")
    return "; ".join(reasons)


def _list_remarks(pair: Comparison, view: ComparisonView) -> Iterator[str]:
    """Yield why there is no verdict, which figures aren't reliable, and what checks and gains come to."""
    if view.verdict == "withheld":
        yield f"withheld ({_explain_withheld(pair)})"
    elif qualified := list(_qualify(pair)):
        yield f"{view.verdict} {', '.join(qualified)}"
    by_gates: dict[tuple[str, ...], list[str]] = {}
    for metric in filter(view.doubts.__contains__, view.shown_metrics):
        by_gates.setdefault(view.doubts[metric], []).append(METRICS[metric].label)
    for gates, metrics in by_gates.items():
        yield f"{' and '.join(metrics)}: unreliable ({', '.join(map(name_gate, gates))})"
    for check in view.checks:
        yield f"Cross-check by {' and '.join(check.drivers)}: {check.conclusion}"
    yield from (capitalise(gain.conclusion) for gain in view.gains)


def describe_correction(views: Iterable[ComparisonView], verdicts: str = "Verdicts") -> str:
    """Say what verdicts are corrected for; nothing where there is one."""
    tests = next((each.significance for each in views if each.significance), None)
    if tests is None or tests.comparisons == 1:
        return ""
    return (
        f"{verdicts} are corrected for {pluralise(tests.comparisons, 'comparison')} (Benjamini–Hochberg): "
        f"on average at most {LEVEL * 100:g} % of those that say faster or slower are wrong."
    )


def describe_few_blocks(views: Sequence[ComparisonView]) -> str:
    """Say what holds for the comparisons that were measured in too few blocks; nothing if none was."""
    judged = [view for view in views if view.verdict != "withheld"]
    without = sum(any(ratio.low is None for ratio in each.ratios.values()) for each in judged)
    which = f"nothing is concluded of {pluralise(without, 'comparison')}"
    return f"Fewer than {BLOCKS_MIN} blocks have no interval: {which}; run more (--blocks)." if without else ""
