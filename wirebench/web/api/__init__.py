"""The API for programs: `/api/v1`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.routing import Router

from wirebench.web.api.answers import Health
from wirebench.web.api.compare import COMPARE
from wirebench.web.api.endpoint import Asked, Endpoint
from wirebench.web.api.histograms import HISTOGRAMS
from wirebench.web.api.openapi import describe
from wirebench.web.api.progress import PROGRESS
from wirebench.web.api.rows import RESULTS, RUNS
from wirebench.web.api.run import RUN


def _health(_asked: Asked) -> Health:
    return Health(status="ok", version=version("wirebench"))


def _description(_asked: Asked) -> dict[str, Any]:
    return describe(ENDPOINTS)


ENDPOINTS = (
    RESULTS,
    RUNS,
    RUN,
    HISTOGRAMS,
    PROGRESS,
    COMPARE,
    Endpoint(name="health", path="/health", summary="Say that the server lives.", answer=_health, answers=Health),
    Endpoint(
        name="openapi",
        path="/openapi.json",
        summary="Describe the API.",
        answer=_description,
        answers=dict[str, Any],
    ),
)


def router() -> Router:
    """Return the routes below `/api/v1`."""
    return Router([endpoint.route() for endpoint in ENDPOINTS], redirect_slashes=False)
