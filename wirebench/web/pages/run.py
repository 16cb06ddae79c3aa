"""`/runs/<id>`: one run, what it supports, and where it comes from; or how it goes, while it does."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from wirebench.index import Filters
from wirebench.store import load_run
from wirebench.store.progress import read_progress
from wirebench.store.results import load_info
from wirebench.web.api.cells import cells_of
from wirebench.web.catalogue import Catalogue
from wirebench.web.charts import plot
from wirebench.web.pages.chapter import make_chapter
from wirebench.web.pages.findings import findings
from wirebench.web.pages.form import address
from wirebench.web.pages.live import live
from wirebench.web.problems import HttpError
from wirebench.web.render import render


def run(request: Request) -> Response:
    """Answer with the page of a run."""
    catalogue: Catalogue = request.app.state.catalogue
    folder = _folder(catalogue, request.path_params["run_id"])
    info = load_info(folder)
    if info.status == "running":
        return live(info, read_progress(folder))
    found = load_run(folder)
    chapter = make_chapter(cells_of(found), info.compare).opening()
    return render("run.html.j2", run=found, findings=findings(found), chapter=chapter, size=plot)


def _folder(catalogue: Catalogue, run_id: str) -> Path:
    """Return the run's folder. Raises HttpError if it isn't here, and says whether it is anywhere."""
    try:
        return catalogue.run_folder(run_id)
    except HttpError:
        with catalogue.index() as index:
            if not index.runs(Filters(run_id=(run_id,)), limit=1).rows:
                raise
        hint = f"the index has its figures: {address('/', (('run_id', run_id),))}"
        raise HttpError(HTTPStatus.NOT_FOUND, "the folder of this run is elsewhere", hint) from None
