"""The API for programs: `/api/v1`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from starlette.routing import Route, Router

from wirebench.present.run import RunView
from wirebench.present.two_runs import RunComparisonView
from wirebench.store.query import Query
from wirebench.web.api import rows, runs
from wirebench.web.api.endpoint import ApiEndpoint, ApiRequest
from wirebench.web.api.openapi import make_openapi


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """That the server answers, and the version of wirebench that does."""

    status: str
    version: str


def health(_: ApiRequest[Query]) -> Health:
    """Say that the server lives."""
    return Health(status="ok", version=version("wirebench"))


def openapi(_: ApiRequest[Query]) -> dict[str, Any]:
    """Describe the API."""
    return make_openapi(ENDPOINTS)


ENDPOINTS = (
    ApiEndpoint("/results", rows.results, rows.Results, rows.RowQuery),
    ApiEndpoint("/runs", rows.runs, rows.Runs, rows.RowQuery),
    ApiEndpoint("/runs/{run_id}", runs.run, RunView),
    ApiEndpoint("/compare", runs.compare, RunComparisonView, runs.CompareQuery),
    ApiEndpoint("/health", health, Health),
    ApiEndpoint("/openapi.json", openapi, dict[str, Any]),
)

ROUTER = Router([Route(each.path, each.respond) for each in ENDPOINTS], redirect_slashes=False)
