"""`/runs/<id>/size`: how many replicas a rate needs under a p99, from the loads of one run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wirebench.analysis.sizing import P99_MAX_MS, RATE_MAX_PER_S, UTILISATION, SizingObjective, compute_sizes
from wirebench.model.labels import capitalise
from wirebench.present.sizing import LEGEND, describe_sizing, make_size_table
from wirebench.results.query import One, Query, Single
from wirebench.web.catalogue import Catalogue
from wirebench.web.render import render


class SizePageQuery(Query):
    """What is to be served; nothing yet, when the form is opened."""

    rate: Single[Annotated[float, Field(gt=0, le=RATE_MAX_PER_S)]] = Field(None, description="Requests/s to serve.")
    p99_ms: Single[Annotated[float, Field(gt=0, le=P99_MAX_MS)]] = Field(None, description="The p99 to keep, in ms.")
    utilisation: Annotated[float, Field(gt=0, le=1), One] = Field(
        UTILISATION, description="The share of what it keeps that each replica is planned for."
    )


def show_size(request: Request) -> Response:
    """Answer with the form, and with sizes once it is filled in."""
    catalogue: Catalogue = request.app.state.catalogue
    query = SizePageQuery.read(request.query_params.multi_items())
    run = catalogue.run(request.path_params["run_id"])
    table, sentences = None, []
    if query.rate and query.p99_ms:
        objective = SizingObjective(query.rate, query.p99_ms, query.utilisation)
        sizing = compute_sizes(run, objective)
        table = make_size_table(sizing) if sizing.sizes else None
        sentences = list(map(capitalise, describe_sizing(sizing, objective)))
    return render(
        "size.html.j2",
        info=run.info,
        query=query,
        limits={"rate": RATE_MAX_PER_S, "p99_ms": P99_MAX_MS, "utilisation": 1},
        table=table,
        legend=LEGEND,
        sentences=sentences,
    )
