"""`wirebench init`: it lists what a schema has, and drafts what is named; tests/contract sends what it drafts."""

from __future__ import annotations

import contextlib
import json
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import reject, wirebench
from tests.support.http_servers import QuietHandler, serving
from wirebench.plan.drafts import openapi

PROTO = """\
syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
service CatalogService {
  rpc GetItem(Id) returns (Item) { option (google.api.http) = { get: "/v1/{name=shelves/*/items/*}" }; }
  rpc Find(Id) returns (Item) { option idempotency_level = NO_SIDE_EFFECTS; }
  rpc Buy(Item) returns (Item);
  rpc Watch(Id) returns (stream Item) { option (google.api.http) = { post: "/v1/watch" body: "*" }; }
  rpc Send(stream Item) returns (Item);
}
message Id { string name = 1; }
message Item { int32 id = 1; string title = 2; }
"""
DOCUMENT = """\
openapi: 3.0.3
info: {title: The Shop, version: "1"}
paths:
  /items/{itemId}:
    get:
      operationId: readItem
      parameters: [{name: itemId, in: path, required: true, schema: {type: integer, minimum: 7}}]
      responses: {"200": {description: it}}
  /items:
    post:
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [title],
        properties: {title: {type: string, example: Dune}}}}}}
      responses: {"201": {description: it}}
  /pictures:
    post:
      requestBody: {content: {multipart/form-data: {schema: {type: object}}}}
      responses: {"200": {description: it}}
"""


@pytest.fixture
def sources(tmp_path: Path) -> tuple[str | Path, ...]:
    """Write both, and return the options that name them."""
    (tmp_path / "shop.proto").write_text(PROTO, encoding="utf-8")
    (tmp_path / "shop.yaml").write_text(DOCUMENT, encoding="utf-8")
    return "--proto", tmp_path / "shop.proto", "--openapi", tmp_path / "shop.yaml", "--out", tmp_path / "out"


def test_without_names_it_lists_what_there_is(sources: tuple[str | Path, ...]) -> None:
    """Each line is what an option takes; it says what can't be measured, and writes no file."""
    listed = wirebench("init", *sources)
    assert listed.status == 0, listed.stderr
    assert listed.stdout.splitlines() == [
        "GET /items/{itemId}",
        "POST /items",
        "POST /pictures    # can't be measured: it sends multipart/form-data: no JSON, form or text",
        "GET /v1/{name=shelves/*/items/*} = shop.v1.CatalogService/GetItem",
        "shop.v1.CatalogService/Find",
        "shop.v1.CatalogService/Buy",
        "shop.v1.CatalogService/Watch",
        "shop.v1.CatalogService/Send    # can't be measured: the client streams its requests",
    ]
    assert not Path(sources[-1]).exists()


def test_what_is_named_is_drafted(sources: tuple[str | Path, ...]) -> None:
    """A pair shares ids and values, a rule gives both requests, and what isn't safe writes unless --reads names it."""
    named = (
        *("--pair", "GET /v1/{name=shelves/*/items/*} = shop.v1.CatalogService/GetItem"),
        *("--pair", "GET /items/{itemId} = shop.v1.CatalogService/Find"),
        *("--pair", "POST /items = shop.v1.CatalogService/Buy"),
        *("--grpc", "shop.v1.CatalogService/Watch", "--reads", "shop.v1.CatalogService/Watch"),
        *("--start", "rest=shop --http {port}", "--address", "rest=localhost:80", "--address", "grpc=10.1.2.3:50051"),
    )
    drafted = wirebench("init", *sources, *named)
    assert drafted.status == 0, drafted.stderr
    out = Path(sources[-1])
    application = yaml.safe_load((out / "the-shop.yaml").read_text(encoding="utf-8"))
    call = "shop.v1.CatalogService"
    assert application["operations"] == {
        "catalog.get_item": {
            "inputs": {"shelves_id": {"list": ["1"]}, "items_id": {"list": ["1"]}},
            "rest": {"request": "GET /v1/shelves/{shelves_id}/items/{items_id}"},
            "grpc": {"call": f"{call}/GetItem", "message": {"name": "shelves/{shelves_id}/items/{items_id}"}},
        },
        "catalog.find": {
            "inputs": {"item_id": {"list": [7]}},
            "rest": {"request": "GET /items/{item_id}"},
            "grpc": {"call": f"{call}/Find", "message": {"name": "{item_id|text}"}},
        },
        "catalog.buy": {
            "writes": True,
            "rest": {"request": "POST /items", "body": {"title": "Dune"}, "expect": {"status": 201}},
            "grpc": {"call": f"{call}/Buy", "message": {"title": "Dune"}},
        },
        "catalog.watch": {"stream": True, "grpc": {"call": f"{call}/Watch", "message": {"name": "name"}}},
    }
    variants, limit = application["variants"], {"rate_per_s": 10, "connections": 2}
    assert (out / variants["rest"].pop("folder")).samefile(Path())
    assert variants["rest"] == {"transport": "rest", "start": "shop --http {port}", "address": "localhost:80"}
    assert (variants["grpc"]["address"], variants["grpc"]["limit"]) == ("10.1.2.3:50051", limit)
    planned = wirebench("run", out / "the-shop-scenario.yaml", "--target", "external", "--dry-run", "--json")
    assert planned.status == 0, planned.stderr
    cells = json.loads(planned.stdout)["cells"]
    operations = ["catalog.get_item", "catalog.find", "catalog.buy"]
    assert {(kind, name, 2, 10) for kind in ("rest", "grpc") for name in operations} == {
        (each["variant"], each["operation"], each["concurrency"], each["rate_per_s"]) for each in cells
    }
    assert "is there already" in reject("init", *sources, *named)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing describes the service"),
        (("--rest", "GET /items"), "there is no request 'GET /items'"),
        (("--rest", "POST /pictures"), "can't be measured: it sends multipart"),
        (("--grpc", "shop.v1.CatalogService/Sell"), "there is no call 'shop.v1.CatalogService/Sell'"),
        (("--grpc", "shop.v1.CatalogService/Send"), "can't be measured: the client streams its requests"),
        (("--pair", "shop.v1.CatalogService/Buy"), "is not REQUEST = CALL"),
        (("--pair", "POST /v1/watch = shop.v1.CatalogService/Watch"), "one of them is a stream"),
        (("--pair", "GET /a/{no} = shop.v1.CatalogService/Buy"), "the message has no single field no"),
        (("--grpc", "shop.v1.CatalogService/Buy", "--reads", "GET /"), "there is no drafted operation 'GET /'"),
        (("--grpc", "shop.v1.CatalogService/Buy", "--start", "shop"), "start: needs {port}"),
    ],
)
def test_what_can_not_be_drafted_is_rejected(
    sources: tuple[str | Path, ...], options: tuple[str, ...], message: str
) -> None:
    """One line says what is wrong, and one what to do."""
    given = sources[2:] if options[:1] == ("--rest",) else (*sources[:2], *sources[4:])
    assert message in reject("init", *(given if options else ()), *options)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "[]",
            "{",
            "[" * 100_000,
            "\0",
            "a: &a [*a]",
            "openapi: 3.0.0\npaths: [1]",
            "swagger: 2\npaths: {/a: {get: {}}}",
        ),
        *(DOCUMENT.replace("type: integer, minimum: 7", f"$ref: '{each}'") for each in ("a.yml", "/dev/zero", "#/no")),
        DOCUMENT.replace("type: integer, minimum: 7", "type: string, pattern: '^(a+)+$', minLength: 40"),
    ],
    ids=lambda text: f"{text[:10]}-{len(text)}",
)
def test_a_document_that_can_not_be_used_is_one_line(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign document may hold anything, such as a pattern that takes for ever, and gives no traceback."""
    monkeypatch.setattr(openapi, "_TIMEOUT_S", 3.0)
    monkeypatch.setattr(openapi, "_DRAFT_TIMEOUT_S", 0.0)
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    failed = reject("init", "--openapi", tmp_path / "a.yaml", "--rest", "GET /items/{itemId}", "--out", tmp_path)
    assert failed.startswith("error: ")
    assert "Traceback" not in failed


class Dripping(QuietHandler):
    """Answers a byte at a time, without end."""

    def do_GET(self) -> None:
        """Answer for ever."""
        with contextlib.suppress(OSError):
            self.answer(200, b"#", {"Content-Length": "1000"})
            while True:
                time.sleep(0.1)
                self.wfile.write(b"#")


def test_an_endless_document_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends a byte now and then doesn't hold us up."""
    monkeypatch.setattr(openapi, "_TIMEOUT_S", 2.0)
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Dripping)) as address:
        assert "was still running after 2 s" in reject("init", "--openapi", f"http://{address}/openapi.json")
