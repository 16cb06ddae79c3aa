"""Application files that name requests by `operation_id`: they become what the OpenAPI document describes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from wirebench.errors import UsageError
from wirebench.model.application import Operation, Rest, read_application
from wirebench.model.openapi_document import Document

DOCUMENT = """\
openapi: 3.1.0
info: {title: Shop, version: 1.0.0}
servers: [{url: 'https://shop.example/{stage}/v2/', variables: {stage: {default: live}}}]
paths:
  /items/{itemId}:
    parameters:
      - {name: itemId, in: path, required: true, schema: {type: integer}}
    get:
      operationId: getItem
      parameters:
        - {name: full, in: query, schema: {type: boolean}}
        - {name: 'filter[color]', in: query, schema: {type: string}}
        - $ref: '#/components/parameters/Trace'
      responses: {200: {description: it}, 404: {description: none}}
    put:
      operationId: putItem
      requestBody: {$ref: '#/components/requestBodies/Item~1~0'}
      responses: {'204': {description: done}}
  /items:
    servers: [{url: /other}]
    get:
      operationId: listItems
      parameters: [{name: limit, in: query, required: true, schema: {type: integer}}]
      responses: {default: {description: them}}
components:
  parameters: {Trace: {name: X-Trace, in: header, schema: {type: string}}}
  requestBodies:
    Item/~: {required: true, content: {application/vnd.item+json: {schema: {type: object}}}}
"""


def read(folder: Path, operation: str, *, document: str = DOCUMENT, name: str = "shop.yaml") -> Operation:
    """Return the operation of an application beside a document."""
    (folder / name).write_text(document)
    text = f"openapi: {name}\noperations:\n  x:\n    {operation}\n"
    (folder / "a.yaml").write_text(text)
    return read_application(folder / "a.yaml").operations["x"]


def rest_of(operation: Operation) -> Rest:
    """Return the REST request."""
    assert operation.rest is not None
    return operation.rest


def test_path_and_query_are_filled_from_inputs(tmp_path: Path) -> None:
    """The server's base path stands before, the query has the parameters that are inputs, camelCase or not."""
    inputs = "{itemId: {value: 7}, filter_color: {value: dark red}}"
    operation = read(tmp_path, f"{{inputs: {inputs}, rest: {{operation_id: getItem}}}}")
    assert "GET /live/v2/items/{itemId}?filter%5Bcolor%5D={filter_color}" == rest_of(operation).request
    request = operation.request_rest({"itemId": 7, "filter_color": "dark red"})
    assert ("GET", "/live/v2/items/7?filter%5Bcolor%5D=dark%20red", None) == request


def test_body_and_status(tmp_path: Path) -> None:
    """The first status of success is expected, and a body has the document's media type; the file overrides both."""
    body = "body: {name: tea}"
    rest = rest_of(read(tmp_path, f"{{inputs: {{itemId: {{value: 7}}}}, rest: {{operation_id: putItem, {body}}}}}"))
    assert (204, {"Content-Type": "application/vnd.item+json"}) == (rest.expect.status, rest.headers)
    own = "headers: {content-type: application/json}, expect: {status: 409}"
    rest = rest_of(
        read(tmp_path, f"{{inputs: {{itemId: {{value: 7}}}}, rest: {{operation_id: putItem, {body}, {own}}}}}")
    )
    assert (409, {"content-type": "application/json"}) == (rest.expect.status, rest.headers)


def test_json_documents_and_servers_of_a_path(tmp_path: Path) -> None:
    """A document may be JSON, and a path may have a server of its own."""
    document = json.dumps(yaml.load(DOCUMENT, yaml.BaseLoader))  # noqa: S506 - it makes texts only
    given = "{inputs: {limit: {value: 9}}, rest: {operation_id: listItems}}"
    rest = rest_of(read(tmp_path, given, document=document, name="shop.json"))
    assert ("GET /other/items?limit={limit}", 200) == (rest.request, rest.expect.status)


@pytest.mark.parametrize(
    ("operation", "expected", "fix"),
    [
        ("{rest: {operation_id: getItms}}", "no operationId 'getItms'", "there are getItem"),
        ("{rest: {operation_id: getItem}}", "has the path parameter itemId", "add `itemId: …` to inputs"),
        ("{rest: {operation_id: listItems}}", "has the query parameter limit", "add `limit: …` to inputs"),
        ("{inputs: {itemId: {value: 1}}, rest: {operation_id: putItem}}", "needs a body", "add body"),
        ("{rest: {operation_id: listItems, request: GET /}}", "the document has the request", "remove request"),
        ("{rest: {operation_id: [1]}}", "no operationId [1]", "there are"),
    ],
)
def test_mistakes_have_line_and_fix(tmp_path: Path, operation: str, expected: str, fix: str) -> None:
    """What doesn't fit the document is named where the application file names the operation."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, operation)
    assert f"{tmp_path / 'a.yaml'}:4: operations.x.rest.operation_id: " in error.value.message
    assert expected in error.value.message
    assert fix in error.value.hint


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("openapi: [", ": not valid YAML"),
        ("- 1", "not an OpenAPI document"),
        ("swagger: '2.0'", "Swagger 2.0"),
        ("name: x", "not an OpenAPI 3 document"),
        (DOCUMENT.replace("'#/components/requestBodies/Item~1~0'", "other.yaml#/a"), "leads to another file"),
        (DOCUMENT.replace("~1~0", ""), "leads to nothing"),
        (DOCUMENT.replace("shop.example", "[your-shop].example"), "servers: 'https://[your-shop]"),
        (DOCUMENT.replace("/components/parameters/Trace", "/components/parameters/x") + "    x: 1\n", "to nothing"),
        (DOCUMENT.replace("{name: X-Trace,", "{$ref: '#/components/parameters/Trace',"), "leads to itself"),
    ],
)
def test_documents_that_cannot_be_used(tmp_path: Path, document: str, expected: str) -> None:
    """What is wrong with the document is said at the key that names it, or the operation that needs it."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, "{inputs: {limit: {value: 9}}, rest: {operation_id: listItems}}", document=document)
    assert f"{tmp_path / 'a.yaml'}:" in error.value.message
    assert expected in error.value.message
    assert error.value.hint


def test_operation_id_needs_a_document(tmp_path: Path) -> None:
    """Without `openapi`, there is nothing to find it in."""
    (tmp_path / "a.yaml").write_text("operations:\n  x:\n    rest:\n      operation_id: getItem\n")
    with pytest.raises(UsageError, match=r"a\.yaml:4: operations\.x\.rest\.operation_id: there is no document"):
        read_application(tmp_path / "a.yaml")


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    """A status is a number or a text, and `on`, `NO` and dates are texts."""
    extra = "x-texts: [NO, on, 12:30, 2026-01-31, 0123]\nx-numbers: [1, 1.5, 1e3, -2]\nx-others: [true, null, ~]\n"
    (tmp_path / "shop.yaml").write_text(DOCUMENT + extra)
    root = Document(tmp_path / "shop.yaml").root
    assert ["NO", "on", "12:30", "2026-01-31", "0123"] == root["x-texts"]
    assert [1, 1.5, 1000.0, -2] == root["x-numbers"]
    assert [True, None, None] == root["x-others"]
