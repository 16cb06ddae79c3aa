"""`/runs/<id>`: one run, what it supports, and where it comes from."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from wirebench.web.catalogue import Catalogue
from wirebench.web.pages.findings import findings
from wirebench.web.render import render


def run(request: Request) -> Response:
    """Answer with the page of a run."""
    catalogue: Catalogue = request.app.state.catalogue
    found = catalogue.run(request.path_params["run_id"])
    return render("run.html.j2", run=found, findings=findings(found))
