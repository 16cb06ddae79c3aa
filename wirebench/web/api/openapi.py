"""The description of the API (OpenAPI 3.1), made of the endpoints and of the types that they take and answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

from wirebench.model.metric import METRICS
from wirebench.web.api.endpoint import ApiEndpoint
from wirebench.web.problems import ErrorResponse

_JSON = "application/json"
_TEXT = """Results of wirebench: what was measured, what differs, and how it was measured.

Times are in UTC; units are in the names of fields. `protocol` and `client` are aliases of `transport` and `driver`
in filters. An unknown or invalid parameter is an error; an empty one is ignored. A parameter that takes
several levels can be repeated, and matches any of them.
Later versions may add fields to replies."""
#: Error responses: status and reason.
_ERRORS = {
    str(HTTPStatus.BAD_REQUEST.value): "A parameter is unknown or malformed.",
    str(HTTPStatus.NOT_FOUND.value): "There is no such run.",
    str(HTTPStatus.SERVICE_UNAVAILABLE.value): "The index can't be used now.",
    "default": "Any other error.",
}

_Json = dict[str, Any]


def make_openapi(endpoints: Sequence[ApiEndpoint]) -> _Json:
    types: _Json = {each.path: each.answers for each in endpoints} | {"error": ErrorResponse}
    schemas, definitions = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(each)) for name, each in types.items()],
        ref_template="#/components/schemas/{model}",
    )
    bodies = {name: {_JSON: {"schema": schemas[name, "serialization"]}} for name in types}
    for name in ("Result", "RunCell"):
        for metric in METRICS.values():
            properties = definitions["$defs"][name]["properties"]
            properties[metric.field]["description"] = f"{metric.heading}. {metric.description}"
    return {
        "openapi": "3.1.0",
        "info": {"title": "wirebench", "version": version("wirebench"), "description": _TEXT},
        "servers": [{"url": "/api/v1"}],
        "paths": {each.path: {"get": _describe(each, bodies[each.path], bodies["error"])} for each in endpoints},
        "components": {"schemas": definitions["$defs"]},
    }


def _describe(endpoint: ApiEndpoint, body: _Json, error: _Json) -> _Json:
    return {
        "operationId": endpoint.answer.__name__,
        "summary": endpoint.answer.__doc__,
        "parameters": list(_list_parameters(endpoint)),
        "responses": {
            "200": {"description": "The requested data.", "content": body},
            **{status: {"description": reason, "content": error} for status, reason in _ERRORS.items()},
        },
    }


def _list_parameters(endpoint: ApiEndpoint) -> Iterator[_Json]:
    if "{run_id}" in endpoint.path:
        yield {"name": "run_id", "in": "path", "required": True, "description": "A run's name.",
               "schema": {"type": "string"}}  # fmt: skip
    described = endpoint.query.model_json_schema()
    required = described.get("required", ())
    for name, schema in described["properties"].items():
        yield {
            "name": name,
            "in": "query",
            "description": schema.pop("description"),
            "required": name in required,
            "allowEmptyValue": name not in required,
            "schema": {key: value for key, value in schema.items() if key not in ("title", "default")},
        }
