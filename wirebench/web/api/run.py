"""`/runs/<id>`: one run, read from its folder: provenance, cells with their gates, and what they support."""

from __future__ import annotations

from wirebench.stats import answer, conclude, words
from wirebench.stats.compare_data import describe_comparison
from wirebench.web.api.answers import RunAnswer
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
        comparisons=tuple(map(describe_comparison, comparisons)),
    )


RUN = Endpoint(name="run", path="/runs/{run_id}", summary="Show a run.", answer=_run, answers=RunAnswer)
