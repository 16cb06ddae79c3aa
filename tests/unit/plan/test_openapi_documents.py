"""OpenAPI documents: what they describe becomes requests, and what is wrong with them is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from wirebench.errors import UsageError
from wirebench.plan.drafts.openapi_document import Document

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


def read(folder: Path, document: str, name: str = "shop.yaml") -> Document:
    """Return a document of this text."""
    (folder / name).write_text(document)
    return Document(folder / name)


def test_routes_have_base_path_parameters_body_and_status(tmp_path: Path) -> None:
    """The base path is the server's, or that of the path's own server; the status is the first of success."""
    get, put, listing = read(tmp_path, DOCUMENT).routes
    assert "GET /live/v2/items/{itemId}?filter%5Bcolor%5D={filter_color}" == get.request(["itemId", "filter_color"])
    assert ("application/vnd.item+json", 204) == (put.body and put.body[0], put.status)
    assert "GET /other/items?limit={limit}" == listing.request(["limit"])
    as_json = json.dumps(yaml.load(DOCUMENT, yaml.BaseLoader))  # noqa: S506 - it makes texts only
    assert listing.path == read(tmp_path, as_json, "shop.json").routes[2].path


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
    """What is wrong with the document is said in one line, with a next step."""
    with pytest.raises(UsageError) as error:
        assert read(tmp_path, document).routes
    assert str(tmp_path / "shop.yaml") in error.value.message
    assert expected in error.value.message
    assert error.value.hint


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    """A status is a number or a text, and `on`, `NO` and dates are texts."""
    extra = "x-texts: [NO, on, 12:30, 2026-01-31, 0123]\nx-numbers: [1, 1.5, 1e3, -2]\nx-others: [true, null, ~]\n"
    (tmp_path / "shop.yaml").write_text(DOCUMENT + extra)
    root = Document(tmp_path / "shop.yaml").root
    assert ["NO", "on", "12:30", "2026-01-31", "0123"] == root["x-texts"]
    assert [1, 1.5, 1000.0, -2] == root["x-numbers"]
    assert [True, None, None] == root["x-others"]
