"""The pages: results as charts, runs, one run, two compared."""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from wirebench.web.pages.compare import show_comparison
from wirebench.web.pages.results import show_results
from wirebench.web.pages.run import show_report, show_run
from wirebench.web.templates import STATIC


def make_routes() -> list[BaseRoute]:
    """Return the pages' addresses, and those of the files that they load."""
    return [
        Route("/", show_results),
        Route("/runs/{run_id}", show_run),
        Route("/runs/{run_id}/report", show_report),
        Route("/compare", show_comparison),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
