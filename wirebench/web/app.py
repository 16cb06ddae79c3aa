"""The application: what is served where."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from wirebench.errors import WirebenchError
from wirebench.store.store import Store
from wirebench.web import api
from wirebench.web.guard import Guard, Hosts
from wirebench.web.pages.compare import show_comparison
from wirebench.web.pages.results import show_results
from wirebench.web.pages.run import show_report, show_run
from wirebench.web.problems import answer_problem, make_problem
from wirebench.web.render import STATIC

_LOOPBACK = Hosts()
#: Under this many bytes a smaller answer isn't a faster one.
_GZIP_BYTES_MIN = 1000


def make_app(store: Store, *, hosts: Hosts = _LOOPBACK, grafana: str = "") -> Starlette:
    """Return the application over a store of runs.

    `grafana` is where the dashboards are; empty where there is none.

    Endpoints find the runs by `request.app.state.store`. They are plain functions: starlette runs those in threads.
    """
    app = Starlette(
        routes=[
            Mount("/api/v1", app=api.ROUTER),
            Route("/", show_results),
            Route("/runs/{run_id}", show_run),
            Route("/runs/{run_id}/report", show_report),
            Route("/compare", show_comparison),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(Guard, hosts=hosts),
            Middleware(GZipMiddleware, minimum_size=_GZIP_BYTES_MIN, compresslevel=5),
        ],
        exception_handlers={HTTPException: _render_error, WirebenchError: _render_error},
    )
    app.state.store = store
    app.state.grafana = grafana
    return app


def _render_error(request: Request, error: Exception) -> Response:
    return answer_problem(request.url.path, make_problem(error))
