"""The routes of users."""

from __future__ import annotations

from http import HTTPStatus

from services.rest.routes import Route

ROUTES = (
    Route("GET", "/api/users", "users.list", query=("limit", "after_id")),
    Route("POST", "/api/users", "users.create", HTTPStatus.CREATED),
    Route("POST", "/api/users/batch", "users.create_batch", HTTPStatus.CREATED),
    Route("GET", "/api/users/{id}", "users.get"),
    Route("PUT", "/api/users/{id}", "users.update"),
    Route("DELETE", "/api/users/{id}", "users.delete"),
)
