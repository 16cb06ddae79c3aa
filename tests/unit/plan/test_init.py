"""`wirebench init`: what it writes of a schema is a valid application file and scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command_line import reject, wirebench
from wirebench.model.application import Application, read_application
from wirebench.plan.drafts.draft import to_snake_case

PROTO = """\
syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
service CatalogService {
  rpc GetItem(GetItemRequest) returns (Item) { option (google.api.http) = { get: "/v1/{name=shelves/*/items/*}" }; }
  rpc ListItems(ListItemsRequest) returns (Item) { option (google.api.http) = { get: "/v1/items" }; }
  rpc CreateItem(CreateItemRequest) returns (Item) {
    option (google.api.http) = { post: "/v1/items/{item.id}" body: "item" };
  }
  rpc CheckStock(Item) returns (Item) { option (google.api.http) = { post: "/v1/stock:check" body: "*" }; }
  rpc Restock(Item) returns (Item) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Settle(Item) returns (Item);
  rpc WatchItems(GetItemRequest) returns (stream Item);
  rpc SendItems(stream Item) returns (Item);
}
enum Color { NONE = 0; RED = 1; BLUE = 2; }
message GetItemRequest { string name = 1; }
message Filter { repeated Color colors = 1; bool sold = 2; map<string, int32> counts = 3; }
message ListItemsRequest { int32 page_size = 1; string page_token = 2; Filter filter = 3; }
message CreateItemRequest { Item item = 1; google.protobuf.FieldMask mask = 2; bool dry = 3; }
message Item {
  int64 id = 1;
  bytes picture = 2;
  double price = 3;
  repeated Item parts = 4;
  map<string, Color> labels = 5;
  google.protobuf.Timestamp made = 6;
  google.protobuf.StringValue note = 7;
  optional string hint = 8;
  string etag = 9 [(google.api.field_behavior) = OUTPUT_ONLY];
  oneof owner { string person = 10; string company = 11; }
}
"""
DOCUMENT = """\
openapi: 3.0.3
info: {title: Shop, version: 1.0.0}
servers: [{url: /api}]
paths:
  /items/{itemId}:
    get:
      operationId: getItem
      summary: One item
      parameters:
        - {name: itemId, in: path, required: true, schema: {type: integer, minimum: 5, maximum: 9}}
        - {name: lang, in: query, example: de, schema: {type: string}}
        - {name: verbose, in: query, schema: {type: boolean}}
        - {name: size, in: query, schema: {type: integer, default: 20}}
      responses: {200: {description: it}}
  /items:
    get:
      parameters: [{name: tags, in: query, required: true, schema: {type: array, items: {enum: [a, b]}}}]
      responses: {200: {description: them}}
    post:
      operationId: createItem
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Item'}}}}
      responses: {201: {description: it}}
  /upload:
    post:
      operationId: upload
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
      responses: {200: {description: ok}}
  /login:
    post:
      operationId: logIn
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {properties: {user: {type: string}}}}}}
      responses: {204: {description: ok}}
components:
  schemas:
    Item:
      allOf: [{$ref: '#/components/schemas/Base'}]
      required: [name, code, parts]
      properties:
        name: {type: string, minLength: 20}
        code: {type: string, format: uuid}
        parts: {type: array, minItems: 2, items: {type: object, properties: {mail: {format: email, type: string}}}}
        price: {type: number, minimum: 1, example: 9.5}
        braces: {type: string, example: '{x}'}
        optional: {type: string}
        parent: {$ref: '#/components/schemas/Item'}
    Base:
      properties:
        id: {type: integer, readOnly: true}
        kind: {type: [string, 'null'], enum: [tea, null]}
      required: [id, kind]
"""


def init(folder: Path, *arguments: str) -> tuple[Application, dict[str, Any], str]:
    """Return the application and the scenario that are written, and what is said."""
    status, _, said = wirebench("init", *arguments, "--out", str(folder / "out"))
    assert 0 == status, said
    (scenario,) = (folder / "out").glob("*-scenario.yaml")
    written = yaml.safe_load(scenario.read_text())
    return read_application(scenario.with_name(written["application"])), written, said


@pytest.fixture
def proto(tmp_path: Path) -> Path:
    """Return a proto file."""
    path = tmp_path / "shop.proto"
    path.write_text(PROTO)
    return path


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return an OpenAPI document."""
    path = tmp_path / "shop.yaml"
    path.write_text(DOCUMENT)
    return path


def test_a_parent_may_name_its_kinds(tmp_path: Path, document: Path) -> None:
    """And each of them the parent: a schema within itself adds nothing."""
    kinds = "    Base:\n      oneOf: [{$ref: '#/components/schemas/Item'}]\n"
    document.write_text(DOCUMENT.replace("    Base:\n", kinds))
    application, _, _ = init(tmp_path, "--openapi", str(document))
    assert "kind" in str(application.operations["create_item"].rest)


def test_a_list_may_be_of_its_own_kind(tmp_path: Path, document: Path) -> None:
    """A tree is a list of trees."""
    tree = "    Tree: {type: array, items: {$ref: '#/components/schemas/Tree'}}\n    Base:\n"
    body = "{schema: {$ref: '#/components/schemas/Item'}}"
    text = DOCUMENT.replace("    Base:\n", tree).replace(body, body.replace("Item", "Tree"))
    document.write_text(text)
    application, _, _ = init(tmp_path, "--openapi", str(document))
    assert application.operations["create_item"].rest is not None


def test_a_path_may_be_of_an_optional_field(tmp_path: Path, proto: Path) -> None:
    """A rule names it, so that it is sent."""
    proto.write_text(PROTO.replace("CreateItemRequest { Item item", "CreateItemRequest { optional Item item"))
    application, _, _ = init(tmp_path, "--proto", str(proto))
    assert application.operations["catalog.create_item"].rest is not None


def test_a_file_is_no_folder_to_write_to(document: Path) -> None:
    """It stays as it is."""
    status, _, said = wirebench("init", "--openapi", str(document), "--out", str(document))
    assert (1, DOCUMENT) == (status, document.read_text())
    assert f"can't write {document}: File exists" in said


def test_calls_become_operations_on_both_transports(tmp_path: Path, proto: Path) -> None:
    """HTTP rules give the REST requests: variables of paths with a pattern, queries, and bodies."""
    application, _, _ = init(tmp_path, "--proto", str(proto))
    requests = {
        name: (each.rest and each.rest["request"], each.grpc and each.grpc["message"])
        for name, each in application.operations.items()
    }
    name = "shelves/{shelves_id}/items/{items_id}"
    assert (f"GET /v1/{name}", {"name": name}) == requests["catalog.get_item"]
    chosen = {"colors": ["{filter_colors}"], "sold": "{filter_sold}", "counts": {"key": "{filter_counts}"}}
    listed = {"page_size": "{page_size}", "filter": chosen}
    chosen_query = "filter.colors={filter_colors}&filter.sold={filter_sold}&filter.counts%5Bkey%5D={filter_counts}"
    query = f"page_size={{page_size}}&{chosen_query}"
    assert (f"GET /v1/items?{query}", listed) == requests["catalog.list_items"]
    create = application.operations["catalog.create_item"]
    assert create.rest
    assert "POST /v1/items/{item_id}?dry={dry}" == create.rest["request"]
    item = {
        "picture": "{item_picture}",
        "price": "{item_price}",
        "labels": {"key": "{item_labels}"},
        "made": "2026-01-31T12:00:00Z",
        "note": "{item_note}",
        "person": "{item_person}",
    }
    assert item == create.rest["body"]
    assert create.grpc
    assert {"item": {"id": "{item_id}", **item}, "dry": "{dry}"} == create.grpc["message"]
    assert "catalog.send_items" not in requests


def test_what_writes_and_what_streams(tmp_path: Path, proto: Path) -> None:
    """Rules, options and names say what writes; the scenario has what reads and what all variants have."""
    application, scenario, _ = init(tmp_path, "--proto", str(proto))
    writing = {name for name, each in application.operations.items() if each.writes}
    assert {"catalog.create_item", "catalog.settle"} == writing
    assert ("catalog.watch_items",) == application.streams
    assert ["catalog.get_item", "catalog.list_items", "catalog.check_stock"] == scenario["factors"]["operation"]
    assert "variant" == scenario["compare"]


def test_operations_that_are_named_may_write(tmp_path: Path, proto: Path) -> None:
    """`--operation` chooses, and is a request to measure them."""
    application, scenario, _ = init(tmp_path, "--proto", str(proto), "--operation", "*.settle")
    assert ["catalog.settle"] == list(application.operations)
    assert ["catalog.settle"] == scenario["factors"]["operation"]


def test_requests_of_a_document(tmp_path: Path, document: Path) -> None:
    """Limits, formats, enums and examples make inputs; what is optional, only for replies, or a file is left out."""
    application, scenario, said = init(tmp_path, "--openapi", str(document), "--address", "127.0.0.1:8080")
    get, search, create = (application.operations[name] for name in ("get_item", "get_api_items", "create_item"))
    assert get.rest
    assert "GET /api/items/{itemId}?lang={lang}&size={size}" == get.rest["request"]
    inputs = {name: each["inputs"] for name, each in json.loads(application.text)["operations"].items()}
    assert ([5, 9], ["de"]) == (inputs["get_item"]["itemId"]["range"], inputs["get_item"]["lang"]["list"])
    assert search.rest
    assert "GET /api/items?tags={tags}" == search.rest["request"]
    assert ["a", "b"] == inputs["get_api_items"]["tags"]["list"]
    assert create.rest
    part = {"mail": "{parts_mail}@example.com"}
    body = {"kind": "{kind}", "name": "{name}", "code": "{code}", "parts": [part, part], "price": "{price}"}
    body["braces"] = "{braces}"
    assert body == create.rest["body"]
    assert (201, {"random_text": 20}) == (create.rest["expect"]["status"], inputs["create_item"]["name"])
    log_in = application.operations["log_in"].rest
    assert log_in
    assert ("user={user}", "application/x-www-form-urlencoded") == (log_in["body"], log_in["headers"]["Content-Type"])
    assert "upload" not in application.operations
    assert ["get_item", "get_api_items"] == scenario["factors"]["operation"]
    assert "next: `wirebench run" in said


def test_a_schema_and_a_document_together(tmp_path: Path, proto: Path, document: Path) -> None:
    """Operations of the same name have the document's REST request, and share inputs of the same name."""
    document.write_text(DOCUMENT.replace("getItem", "CatalogService_WatchItems").replace("createItem", "checkStock"))
    application, _, _ = init(tmp_path, "--proto", str(proto), "--openapi", str(document))
    check = application.operations["catalog.check_stock"]
    assert check.rest
    assert "POST /api/items" == check.rest["request"]
    assert check.grpc
    assert check.grpc["message"]["price"] == check.rest["body"]["price"] == "{price}"
    assert application.operations["catalog.watch_items"].rest is None, "a stream takes no request of a unary call"
    assert "log_in" in application.operations


def test_a_document_of_the_same_requests(tmp_path: Path, proto: Path, document: Path) -> None:
    """What an HTTP rule describes already keeps the rule's request, and learns its status."""
    text = DOCUMENT.replace("url: /api", "url: /v1").replace("/items:", "/stock:check:").replace("createItem", "other")
    document.write_text(text)
    application, _, _ = init(tmp_path, "--proto", str(proto), "--openapi", str(document))
    check = application.operations["catalog.check_stock"].rest
    assert check
    assert ("POST /v1/stock:check", 201, "{id}") == (check["request"], check["expect"]["status"], check["body"]["id"])
    assert "other" not in application.operations


def test_the_document_itself_is_not_overwritten(tmp_path: Path, document: Path) -> None:
    """Nor is any other file."""
    status, _, said = wirebench("init", "--openapi", str(document), "--out", str(tmp_path))
    assert 0 == status, said
    assert DOCUMENT == document.read_text()
    assert (tmp_path / "shop-application.yaml").is_file()
    assert "shop-application.yaml is there already" in reject("init", "--openapi", document, "--out", tmp_path)


def test_foreign_addresses_get_a_limit(tmp_path: Path, document: Path) -> None:
    """A service on another machine is loaded at a low rate that the scenario keeps to."""
    arguments = ("--openapi", str(document), "--address", "shop.example:443")
    application, scenario, _ = init(tmp_path, *arguments)
    limit = application.variants["rest"].limit
    assert limit
    assert "open" == scenario["load"]["model"]
    assert (limit.rate_per_s, limit.connections) == (
        scenario["factors"]["rate_per_s"],
        scenario["factors"]["concurrency"],
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "nothing describes the service"),
        (("--proto", "a.proto", "--reflection", "127.0.0.1:1"), "both describe gRPC"),
        (("--proto", "none.proto"), "none.proto: no such file"),
        (("--openapi", "none.yaml"), "none.yaml: No such file"),
        (("--reflection", "127.0.0.1:1"), "127.0.0.1:1: connection refused"),
        (("--proto", "shop.proto", "--start", "shop {port}"), "doesn't name its variant"),
        (("--proto", "shop.proto", "--start", "rest=shop"), "it has no {port}"),
        (("--proto", "shop.proto", "--operation", "catalog.get_itm"), "there are catalog.get_item"),
        (("--proto", "only.proto"), "--operation 'only.do'"),
    ],
)
def test_mistakes(
    tmp_path: Path, proto: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: str
) -> None:
    """Nothing is written, and the next step is said."""
    monkeypatch.chdir(proto.parent)
    text = 'syntax = "proto3";\nservice Only { rpc Do(M) returns (M); }\nmessage M {}\n'
    (tmp_path / "only.proto").write_text(text)
    status, _, said = wirebench("init", *arguments, "--out", "out")
    assert status in (1, 2)
    assert expected in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("GetItemByID", "get_item_by_id"), ("HTTPGet", "http_get"), ("v1/x-y", "v1_x_y"), ("2fa", "operation_2fa")],
)
def test_names(name: str, expected: str) -> None:
    """Names of methods and operationIds become those of operations."""
    assert expected == to_snake_case(name)
