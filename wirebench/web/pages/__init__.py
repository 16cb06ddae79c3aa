"""The pages: results as charts, runs, one run, two runs compared, a figure over runs; and the files that they load."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from wirebench.report.templates import LOOK
from wirebench.web.pages.compare import compare
from wirebench.web.pages.history import history
from wirebench.web.pages.report import report
from wirebench.web.pages.results import results
from wirebench.web.pages.run import run

_STATIC = Path(__file__).parent.parent / "static"


def routes() -> list[BaseRoute]:
    """Return the pages' addresses, and those of the files that they load."""
    return [
        Route("/", results),
        Route("/runs/{run_id}", run),
        Route("/runs/{run_id}/report", report),
        Route("/compare", compare),
        Route("/history", history),
        Route("/static/look.css", _look),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


def _look(_: Request) -> Response:
    return FileResponse(LOOK)
