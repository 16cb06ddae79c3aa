"""`/runs/<id>`: one run, what it supports, and where it comes from; or how it goes, while it does."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from wirebench.store import load_run
from wirebench.store.progress import read_progress
from wirebench.store.results import load_info
from wirebench.web.api.cells import cells_of
from wirebench.web.catalogue import Catalogue
from wirebench.web.charts import plot
from wirebench.web.pages.chapter import make_chapter
from wirebench.web.pages.findings import findings
from wirebench.web.pages.live import live
from wirebench.web.render import render


def run(request: Request) -> Response:
    """Answer with the page of a run."""
    catalogue: Catalogue = request.app.state.catalogue
    folder = catalogue.run_folder(request.path_params["run_id"])
    info = load_info(folder)
    if info.status == "running":
        return live(info, read_progress(folder))
    found = load_run(folder)
    chapter = make_chapter(cells_of(found), info.compare).opening()
    return render("run.html.j2", run=found, findings=findings(found), chapter=chapter, size=plot)
