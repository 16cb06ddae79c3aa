"""First versions of REST operations, from the requests of an OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wirebench.model.placeholders import find_placeholders
from wirebench.plan.drafts.draft import Draft, to_snake_case
from wirebench.plan.drafts.openapi_document import Document, Parameter, Route, to_list

_INT_SPAN = 999
_TEXT_CHARACTERS = 10
_DEPTH_MAX = 6
#: Texts of formats: a template around a random text, or one that is always the same.
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1S",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "email": "{}@example.com",
    "idn-email": "{}@example.com",
    "hostname": "{}.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/{}",
    "url": "https://example.com/{}",
}
_READING_METHODS = ("get",)


def draft_request(document: Document, route: Route) -> tuple[str, Draft]:
    """Return name and draft of an operation that a document alone describes."""
    draft = Draft(route.summary, writes=route.method not in _READING_METHODS)
    draft_route(draft, document, route)
    return to_snake_case(route.operation_id or f"{route.method} {route.path}"), draft


def draft_route(draft: Draft, document: Document, route: Route) -> None:
    """Give a draft the REST request of a route, with inputs for its parameters and its body."""
    values = _Values(draft, document)
    parameters = {
        each.input: values.draw_parameter(each)
        for each in route.parameters
        if each.required or values.has_example(each)
    }
    draft.rest = {"request": _fill(route.request(parameters), parameters)}
    if route.body:
        body, headers = _draft_body(values, document, *route.body), route.headers
        if isinstance(body, str):
            headers = {"Content-Type": route.body[0]}
        draft.rest |= {"body": body, **({"headers": headers} if headers else {})}
    draft.expect_status(route.status)


def _fill(request: str, parameters: Mapping[str, str]) -> str:
    """Return a request with the templates of its parameters in place of their names."""
    for name, template in parameters.items():
        request = request.replace(f"{{{name}}}", template)
    return request


def _draft_body(values: _Values, document: Document, kind: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Return a body: JSON, or for other media types a text."""
    body = values.draw(given.get("schema", {}), (), document.find_example(given))
    if "json" in kind or kind == "*/*":
        return f'"{body}"' if isinstance(body, str) else body
    if isinstance(body, dict) and kind == "application/x-www-form-urlencoded":
        return "&".join(f"{name}={value}" for name, value in body.items() if not isinstance(value, dict | list))
    return body if isinstance(body, str) else values.operation.add_input(("body",), {"random_text": _TEXT_CHARACTERS})


@dataclass(frozen=True, slots=True)
class _Values:
    """Draws values by their schemas."""

    operation: Draft
    document: Document

    def has_example(self, parameter: Parameter) -> bool:
        """Return whether the document has a value for a parameter: an example, or its default."""
        return parameter.example is not None or any(_list_examples(self._flatten(parameter.schema)))

    def draw_parameter(self, parameter: Parameter) -> str:
        """Return the template of a parameter; one that is a list has one item."""
        schema = self._flatten(parameter.schema)
        if schema.get("type") == "array":
            schema = self._flatten(schema.get("items"))
        example = next(iter(parameter.example), None) if isinstance(parameter.example, list) else parameter.example
        drawn = self.draw({} if "properties" in schema else schema, (parameter.input,), example)
        return drawn if isinstance(drawn, str) else json.dumps(drawn)

    def draw(self, given: Any, path: tuple[str, ...], example: Any = None, lists: int = 0) -> Any:  # noqa: ANN401 - any JSON
        """Return the template of a value within so many lists; inputs are named by its path."""
        schema = self._flatten(given)
        example = next((each for each in (example, *_list_examples(schema)) if each is not None), None)
        if next(find_placeholders(example), None):  # it has braces itself
            example = None
        kind = _find_kind(schema)
        if len(path) + lists > _DEPTH_MAX:
            return None
        if kind == "object":
            return self._draw_object(schema, path, example if isinstance(example, dict) else {})
        if kind == "array":
            first = example[0] if isinstance(example, list) and example else None
            item = self.draw(schema.get("items"), path, first, lists + 1)
            return [] if item is None else [item] * max(1, _read_number(schema, "minItems", 1))
        return self._draw_scalar(schema, kind, path or ("body",), example)

    def _draw_scalar(self, schema: dict[str, Any], kind: str, path: tuple[str, ...], example: Any) -> Any:  # noqa: ANN401
        if "const" in schema or kind == "null":
            return schema.get("const")
        choices = [each for each in to_list(schema.get("enum")) if each is not None]
        if not choices and _fits(kind, example):
            choices = [str(example) if kind == "string" else example]
        if choices:
            return self.operation.add_input(path, {"list": choices})
        if kind == "string":
            return self._draw_text(schema, path)
        return self.operation.add_input(path, _draw_number(schema, kind))

    def _draw_object(self, schema: dict[str, Any], path: tuple[str, ...], example: dict[str, Any]) -> dict[str, Any]:
        """Return what has to be there, or has an example; if that is nothing, all that can be sent."""
        every = {name: self._flatten(each) for name, each in self.document.resolve(schema.get("properties")).items()}
        sent = {name: each for name, each in every.items() if not each.get("readOnly")}
        required = to_list(schema.get("required"))
        chosen = {
            name for name, each in sent.items() if name in required or name in example or any(_list_examples(each))
        }
        drawn = {
            name: self.draw(each, (*path, name), example.get(name))
            for name, each in sent.items()
            if name in chosen or not chosen
        }
        return {name: value for name, value in drawn.items() if value is not None} if every else example

    def _draw_text(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        form = str(schema.get("format", ""))
        least = _read_number(schema, "minLength", 0)
        size = max(least, min(_TEXT_CHARACTERS, _read_number(schema, "maxLength", _TEXT_CHARACTERS)))
        if form == "byte":
            return self.operation.add_input(path, {"bytes": size})
        fixed = _FORMATS.get(form, "{}")
        if "{}" not in fixed:
            return self.operation.add_input(path, {"list": [fixed]})
        return fixed.replace("{}", self.operation.add_input(path, {"random_text": size}))

    def _flatten(self, given: Any, above: tuple[int, ...] = ()) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        """Return a schema with all of its `allOf`, and the first that isn't null of its alternatives.

        `above` are the ids of those that it is a part of: a parent may name its kinds, and each of these the parent.
        """
        schema = self.document.resolve(given)
        if id(schema) in above:
            return {}
        above = (*above, id(schema))
        parts = [self._flatten(each, above) for each in to_list(schema.get("allOf"))]
        for alternatives in filter(None, (to_list(schema.get(key)) for key in ("oneOf", "anyOf"))):
            resolved = (self._flatten(each, above) for each in alternatives)
            parts += [next((each for each in resolved if each.get("type") != "null"), {})]
        merged: dict[str, Any] = {}
        for part in (*parts, schema):
            properties = merged.get("properties", {}) | self.document.resolve(part.get("properties"))
            required = [*merged.get("required", ()), *to_list(part.get("required"))]
            others = {key: value for key, value in part.items() if key != "properties"}
            merged |= {**others, **({"properties": properties} if properties else {}), "required": required}
        return merged


def _find_kind(schema: dict[str, Any]) -> str:
    """Return a schema's type; OpenAPI 3.1 may have several, and documents may leave out what is plain."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if not isinstance(kind, str):
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return kind


def _list_examples(schema: dict[str, Any]) -> tuple[Any, ...]:
    several = schema.get("examples")
    return (schema.get("example"), several[0] if isinstance(several, list) and several else None, schema.get("default"))


def _fits(kind: str, example: Any) -> bool:  # noqa: ANN401 - any JSON
    if kind == "string":
        return isinstance(example, str | int | float) and example != ""
    if kind == "boolean":
        return isinstance(example, bool)
    return isinstance(example, int if kind == "integer" else int | float) and not isinstance(example, bool)


def _draw_number(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind == "boolean":
        return {"list": [True, False]}
    # An excluded end is a number in OpenAPI 3.1, and a flag beside the end in 3.0.
    low = _read_number(schema, "minimum", _read_number(schema, "exclusiveMinimum", 0) + 1)
    low += schema.get("exclusiveMinimum") is True
    high = _read_number(schema, "maximum", _read_number(schema, "exclusiveMaximum", low + _INT_SPAN + 1) - 1)
    high -= schema.get("exclusiveMaximum") is True
    if kind == "integer":
        step = _read_number(schema, "multipleOf", 1)
        if step > 1:
            return {"list": [-(-low // step) * step]}
        return {"range": [low, max(low, high)]}
    return {"list": sorted({float(low), (low + high) / 2})}


def _read_number(schema: dict[str, Any], key: str, otherwise: int) -> int:
    value = schema.get(key)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
