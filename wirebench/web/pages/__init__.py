"""The pages: results as charts, runs, one run, two compared."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import FileResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from wirebench.present import CHARTS_CSS, LOOK_CSS
from wirebench.web.pages.compare import show_comparison
from wirebench.web.pages.results import show_results
from wirebench.web.pages.run import show_report, show_run

_STATIC = Path(__file__).parent.parent / "static"


def make_routes() -> list[BaseRoute]:
    """Return the pages' addresses, and those of the files that they load."""
    return [
        Route("/", show_results),
        Route("/runs/{run_id}", show_run),
        Route("/runs/{run_id}/report", show_report),
        Route("/compare", show_comparison),
        Route("/static/look.css", lambda _: FileResponse(LOOK_CSS)),
        Route("/static/charts.css", lambda _: FileResponse(CHARTS_CSS)),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
