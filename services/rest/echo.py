"""The routes of echo."""

from __future__ import annotations

from services.rest.routes import Route

ROUTES = (
    Route("POST", "/echo", "echo.echo"),
    Route("POST", "/upper", "echo.upper"),
)
