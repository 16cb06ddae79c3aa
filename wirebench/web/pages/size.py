"""`/runs/<id>/size`: how many replicas a rate needs under a p99, from the loads of one run."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from wirebench.analysis.sizing import P99_MAX_MS, RATE_MAX_PER_S, UTILISATION, SizingObjective, compute_sizes
from wirebench.model.labels import capitalise
from wirebench.present.sizing import LEGEND, describe_sizing, make_size_table
from wirebench.web.api.runs import SizeQuery
from wirebench.web.catalogue import Catalogue
from wirebench.web.render import render


def show_size(request: Request) -> Response:
    """Answer with the form, and with sizes once it is filled in."""
    catalogue: Catalogue = request.app.state.catalogue
    given = request.query_params.multi_items()
    asked = SizeQuery.read(given).model_dump() if given else {"utilisation": UTILISATION}
    run = catalogue.run(request.path_params["run_id"])
    table, sentences = None, []
    if given:
        objective = SizingObjective(asked["rate"], asked["p99_ms"], asked["utilisation"])
        sizing = compute_sizes(run, objective)
        table = make_size_table(sizing) if sizing.sizes else None
        sentences = list(map(capitalise, describe_sizing(sizing, objective)))
    return render(
        "size.html.j2",
        info=run.info,
        asked=asked,
        limits={"rate": RATE_MAX_PER_S, "p99_ms": P99_MAX_MS, "utilisation": 1},
        table=table,
        legend=LEGEND,
        sentences=sentences,
    )
