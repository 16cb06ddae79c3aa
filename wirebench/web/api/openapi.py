"""The description of the API (OpenAPI 3.1), made of the endpoints and of the types that they answer."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

from wirebench.selection.parameters import LEVELS_MAX, Parameter
from wirebench.tables import MEDIA_TYPES
from wirebench.web.api.endpoint import Endpoint
from wirebench.web.problems import Refusal

_JSON = MEDIA_TYPES["json"]
_TEXT = """Results of wirebench: what was measured, what it supports, and where it comes from.

Times are in UTC, units stand in names. Throughput is in requests a second. An unknown parameter is refused, as is one
that isn't what it has to be; an empty one is none. One that takes several levels can be repeated, and has any of them.
An answer may get more fields in later versions."""
#: What is refused: by its status, and why.
_REFUSALS = {
    HTTPStatus.BAD_REQUEST: "A parameter is unknown or malformed.",
    HTTPStatus.NOT_FOUND: "There is no such run, or no such cell in it.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The index can't be used now.",
}

_Json = dict[str, Any]


def describe(endpoints: Sequence[Endpoint]) -> _Json:
    """Return the description of these endpoints."""
    answers = {each.path: TypeAdapter(each.answers) for each in endpoints}
    refusal: TypeAdapter[Refusal] = TypeAdapter(Refusal)
    schemas, definitions = TypeAdapter.json_schemas(
        [(path, "serialization", adapter) for path, adapter in (*answers.items(), ("", refusal))],
        ref_template="#/components/schemas/{model}",
    )
    of_refusals = schemas["", "serialization"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "wirebench", "version": version("wirebench"), "description": _TEXT},
        "servers": [{"url": "/api/v1"}],
        "paths": {
            each.path: {"get": _operation(each, schemas[each.path, "serialization"], of_refusals)} for each in endpoints
        },
        "components": {"schemas": definitions["$defs"]},
    }


def _operation(endpoint: Endpoint, answer: _Json, refusal: _Json) -> _Json:
    bodies = {_JSON: {"schema": answer}}
    if endpoint.has_tables:
        # Of a file OpenAPI says no more than its type.
        bodies |= {media_type: {} for name, media_type in MEDIA_TYPES.items() if name != "json"}
    refusals = {str(status.value): _refusal(text, refusal) for status, text in _REFUSALS.items()}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *map(_query_parameter, endpoint.parameters)],
        "responses": {
            "200": {"description": "What was asked for.", "headers": _headers(endpoint), "content": bodies},
            "304": {"description": "It is what the request's If-None-Match names."},
            **refusals,
            "default": _refusal("Anything else that keeps it from being answered.", refusal),
        },
    }


def _headers(endpoint: Endpoint) -> _Json:
    if endpoint.has_tables:  # files have none
        return {}
    return {"ETag": {"required": True, "schema": {"type": "string"}}}


def _refusal(description: str, schema: _Json) -> _Json:
    return {"description": description, "content": {_JSON: {"schema": schema}}}


def _path_parameters(endpoint: Endpoint) -> list[_Json]:
    if "{run_id}" not in endpoint.path:
        return []
    return [
        {"name": "run_id", "in": "path", "required": True, "description": "A run's name.", "schema": {"type": "string"}}
    ]


def _query_parameter(parameter: Parameter) -> _Json:
    schema = dict(parameter.schema)
    if parameter.several:
        schema = {"type": "array", "items": schema, "maxItems": LEVELS_MAX}
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "required": parameter.required,
        "allowEmptyValue": not parameter.required,
        "schema": schema,
    }
