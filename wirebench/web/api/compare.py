"""`/compare`: two runs held against each other, cell by cell."""

from __future__ import annotations

from wirebench.stats import across_words
from wirebench.stats.across import Across, Change, across
from wirebench.stats.summary import METRICS, CellSummary
from wirebench.web.api.answers import CellChange, CellFigures, Compared, RunDifference
from wirebench.web.api.endpoint import Asked, Endpoint
from wirebench.web.parameters import Parameter, text


def _compare(asked: Asked) -> Compared:
    base, head = (asked.catalogue.run(*asked.levels[name]) for name in ("base", "head"))
    return compared(across(base, head))


def compared(found: Across) -> Compared:
    """Return two runs as the API answers with them, and `wirebench compare --json` too."""
    return Compared(
        base=found.base,
        head=found.head,
        equivalence_margin=found.margin,
        summary=across_words.summary(found),
        remarks=tuple(across_words.remarks(found)),
        regressions=tuple(change.subject.cell for change in found.regressions),
        changes=tuple(map(_change, found.changes)),
        only_in_base=tuple(cell.cell for cell in found.only_in_base),
        only_in_head=tuple(cell.cell for cell in found.only_in_head),
        differences=tuple(
            RunDifference(name=each.name, base=each.base, head=each.head, reason=each.reason)
            for each in found.differences
        ),
    )


def _run(name: str, description: str) -> Parameter:
    return Parameter(name=name, description=description, parse=text, required=True)


COMPARE = Endpoint(
    name="compare",
    path="/compare",
    summary="Compare two runs by the cells that both have.",
    answer=_compare,
    answers=Compared,
    parameters=(_run("base", "The run that is compared with."), _run("head", "The run that is judged.")),
)


def _change(of: Change) -> CellChange:
    return CellChange(
        cell=of.subject.cell,
        factors=of.subject.factors,
        metric=of.metric.name,
        verdict=of.verdict,
        regressed=of.regressed,
        p_value=of.p_value,
        ratios=of.ratios,
        base=_figures(of.baseline),
        head=_figures(of.subject),
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        reasons=of.reasons,
        sentence=across_words.sentence(of),
    )


def _figures(cell: CellSummary) -> CellFigures:
    figures = {name: cell.typical(metric) for name, metric in METRICS.items()}
    return CellFigures(
        blocks=len(cell.records), typical={name: figure for name, figure in figures.items() if figure is not None}
    )
