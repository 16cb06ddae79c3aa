"""What a budget comes to, as sentences: for the terminal, programs and builds alike."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.analysis.budget import BudgetCheck, BudgetVerdict, LimitCheck
from wirebench.analysis.ratio import BLOCKS_MIN
from wirebench.analysis.significance import FALSE_ALARMS
from wirebench.model.labels import describe_factors, pluralise
from wirebench.present.build_summary import BuildRow, BuildSummary, Outcome
from wirebench.present.numbers import ABSENT, format_ci, format_ends, format_metric, format_number
from wirebench.present.sentences import explain_withheld, format_interval

_HEADINGS = ("cell", "limit", "measured", "verdict")

_COUNTED: tuple[BudgetVerdict, ...] = ("met", "broken", "undecided")
_OUTCOMES: dict[BudgetVerdict, Outcome] = {"met": "passed", "broken": "failed"}


def name_limit(check: LimitCheck) -> str:
    """Name a limit: `p99 at most 20.0 ms`."""
    metric = check.metric
    if check.bound == "slower":
        return f"at most {check.limit * 100:g} % slower than base by {metric.label}"
    unit = f" {metric.unit_label}" if metric.unit_label else ""
    return f"{metric.label} {'at most' if check.bound == 'max' else 'at least'} {check.limit:,.12g}{unit}"


def format_figure(check: LimitCheck) -> str:
    metric, figure = check.metric, check.figure
    if figure is None:
        return ABSENT
    if check.bound == "slower":
        return format_interval(figure)
    unit = f" {metric.unit_label}" if metric.unit_label else ""
    interval = format_ci(figure.low, figure.high)
    if metric.over_blocks == "merged":
        ends = f", 95 % CI {format_ends(figure.low, figure.high)}" if interval else ""
        interval = f" (typical block {format_number(figure.estimate)}{ends})"
    return f"{format_metric(metric, check.measured)}{unit}{interval}"


def describe_check(check: LimitCheck) -> str:
    return f"{describe_factors(check.cell.factors)}: {describe_limit(check)}"


def describe_limit(check: LimitCheck) -> str:
    """Say what has become of a limit, without its cell; a whole sentence."""
    why = explain_verdict(check)
    return f"{name_limit(check)}: {check.verdict}{f' ({why})' if why else ''}; measured {format_figure(check)}."


def explain_verdict(check: LimitCheck) -> str:
    """Say why a limit is neither met nor broken, or what else failed where it is broken; empty without either."""
    if check.verdict == "withheld":
        return "; ".join(filter(None, (*check.reasons, explain_withheld(check.failed_gates)))) or "not measured"
    if check.verdict != "undecided":
        failed = explain_withheld(check.failed_gates) if check.verdict == "broken" else ""
        return "; ".join(filter(None, (*check.reasons, failed)))
    if check.p_broken is None:
        return f"fewer than {BLOCKS_MIN} blocks have no interval: run more (--blocks)"
    if check.p_broken <= FALSE_ALARMS:
        return "alone it would be broken, but not as one of several limits: add blocks"
    has_error = check.bound != "slower" and check.cell.instrument_error_ms(check.metric)
    error = ", or within the driver's error of it" if has_error else ""
    return f"the limit lies within the interval{error}: add blocks"


def summarise_check(found: BudgetCheck) -> str:
    counts = [f"{count} {verdict}" for verdict in _COUNTED if (count := len(found.with_verdict(verdict)))]
    if withheld := len(found.with_verdict("withheld")):
        counts.append(f"no verdict on {withheld}")
    cells = len({check.cell.cell for check in found.checks})
    return f"{pluralise(len(found.checks), 'limit')} of {pluralise(cells, 'cell')}: {', '.join(counts)}."


def list_budget_caveats(found: BudgetCheck) -> Iterator[str]:
    run = found.run
    if run.status != "complete":
        why = f" ({run.reason})" if run.reason else ""
        yield f"{run.id} is {run.status}{why}: limits are checked by what it has."
    if any(map(_lacks_error, found.checks)):
        yield "The driver's own error is unknown and treated as zero: `wirebench calibrate` measures it."
    if found.tested > 1:
        yield (
            f"Broken limits hold together, as {found.tested} are tested (Holm): where all are kept, "
            f"any is called broken in at most {FALSE_ALARMS * 100:g} % of runs."
        )


def _lacks_error(check: LimitCheck) -> bool:
    """Return whether a limit on a latency is judged without knowing the driver's error."""
    has_error = check.metric.error_ms is not None and not check.cell.has_streams and check.bound != "slower"
    return has_error and check.p_broken is not None and check.cell.instrument_error_ms(check.metric) is None


def make_budget_build_summary(found: BudgetCheck) -> BuildSummary:
    """Return what a build shows: a broken limit failed, and one that is neither met nor broken was skipped."""
    return BuildSummary(
        command="check",
        run=found.run,
        base=found.base,
        headings=_HEADINGS,
        rows=tuple(map(_make_build_row, found.checks)),
        sentence=summarise_check(found),
        caveats=tuple(list_budget_caveats(found)),
    )


def _make_build_row(check: LimitCheck) -> BuildRow:
    cell, limit = describe_factors(check.cell.factors), name_limit(check)
    return BuildRow(
        name=f"{cell}: {limit}",
        outcome=_OUTCOMES.get(check.verdict, "skipped"),
        figures=(cell, limit, format_figure(check), check.verdict),
        why=explain_verdict(check),
        sentence=describe_limit(check),
        measured_s=check.cell.measured_s,
    )
