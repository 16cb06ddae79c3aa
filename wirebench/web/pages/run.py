"""`/runs/<id>`: one run, what it supports, and where it comes from."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from wirebench.index import Filters
from wirebench.web.catalogue import Catalogue
from wirebench.web.pages.findings import findings
from wirebench.web.pages.form import address
from wirebench.web.problems import HttpError
from wirebench.web.render import render


def run(request: Request) -> Response:
    """Answer with the page of a run."""
    catalogue: Catalogue = request.app.state.catalogue
    run_id = request.path_params["run_id"]
    try:
        found = catalogue.run(run_id)
    except HttpError:
        with catalogue.index() as index:
            if not index.runs(Filters(run_id=(run_id,)), limit=1).rows:
                raise
        hint = f"the index has its figures: {address('/', (('run_id', run_id),))}"
        raise HttpError(HTTPStatus.NOT_FOUND, "the folder of this run is elsewhere", hint) from None
    return render("run.html.j2", run=found, findings=findings(found))
