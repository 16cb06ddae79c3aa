"""The API for programs: `/api/v1`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, Router


def router() -> Router:
    """Return the routes below `/api/v1`."""
    return Router([Route("/health", _health)], redirect_slashes=False)


def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
