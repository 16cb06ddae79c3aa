"""`/runs/<id>`: one run, read from its folder: provenance, cells with their gates, and what they support."""

from __future__ import annotations

from wirebench.stats import Comparison, answer, conclude, words
from wirebench.web.api.answers import CellComparison, RunAnswer
from wirebench.web.api.cells import cells_of
from wirebench.web.api.endpoint import Asked, Endpoint


def _run(asked: Asked) -> RunAnswer:
    run = asked.catalogue.run(asked.run_id)
    comparisons = conclude(run)
    return RunAnswer(
        run=run.info,
        summary=answer(run, comparisons),
        caveat=words.caveat(comparisons),
        cells=cells_of(run),
        comparisons=tuple(map(_comparison, comparisons)),
    )


RUN = Endpoint(name="run", path="/runs/{run_id}", summary="Show a run.", answer=_run, answers=RunAnswer)


def _comparison(of: Comparison) -> CellComparison:
    return CellComparison(
        factor=of.factor,
        subject=of.subject.cell,
        baseline=of.baseline.cell,
        metric=of.metric.name,
        verdict=None if of.instruments else of.verdict,
        instruments=of.instruments,
        ratios=of.ratios,
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        sentence=words.sentence(of),
        checks=tuple(map(_comparison, of.checks)),
    )
