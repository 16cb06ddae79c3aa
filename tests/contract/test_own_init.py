"""What `wirebench init` drafts of a schema is accepted by a service that checks it."""

# ruff: noqa: E501 - schemas are written as their authors would

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

from tests.support.command_line import wirebench
from tests.support.jobs import JOB, cell
from tests.support.recorders import Received, record_grpc, record_rest
from tests.support.runs import needs_tools
from wirebench.measure.answers import send_requests
from wirebench.model.contract import Transport
from wirebench.run.schema import compile_schema
from wirebench.system.paths import CONTRACT

pytestmark = needs_tools


def read_query(got: Received) -> dict[str, list[str]]:
    """Return the fields of a request's query."""
    return parse_qs(urlsplit(got.path).query, keep_blank_values=True)


def read_form(got: Received) -> dict[str, list[str]]:
    """Return the fields of a request's form."""
    return parse_qs(got.body.decode(), keep_blank_values=True)


class Rest(NamedTuple):
    """A request of a document, its parameters or body there, and whether the service takes what it gets."""

    request: str
    described: str
    accepts: Callable[[Received], bool]
    version: str = "openapi: 3.1.0"

    @property
    def document(self) -> str:
        """The document, with this request alone."""
        verb, path = self.request.split()
        head = f"{self.version}\ninfo: {{title: Shop, version: '1'}}\npaths:\n  {path}:\n    {verb.lower()}:\n"
        return f"{head}      {self.described}\n      responses: {{'200': {{description: a}}}}\n"


REST = {
    "3.0 with limits": Rest(
        "GET /items/{id}",
        "parameters: [{name: id, in: path, required: true, schema: {type: integer, minimum: 100, exclusiveMinimum: true}}]",
        lambda got: int(got.path.rpartition("/")[2]) > 100,
        "openapi: 3.0.3",
    ),
    "Swagger 2.0 with a base path": Rest(
        "PUT /pets",
        "parameters: [{name: pet, in: body, required: true, schema: {type: object, required: [tag], properties: {tag: {type: string, enum: [new]}}}}]",
        lambda got: got.path == "/v2/pets" and json.loads(got.body) == {"tag": "new"},
        "swagger: '2.0'\nbasePath: /v2\nconsumes: [application/json]",
    ),
    "a form": Rest(
        "POST /a",
        "requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: {type: object, required: [t, n], properties: {t: {type: array, minItems: 2, items: {enum: ['a b']}}, n: {type: integer}}}}}}",
        lambda got: read_form(got)["t"] == ["a b", "a b"] and read_form(got)["n"][0].lstrip("-").isdigit(),
    ),
    "deepObject": Rest(
        "GET /a",
        "parameters: [{name: f, in: query, required: true, style: deepObject, explode: true, schema: {type: object, required: [x], properties: {x: {type: integer, minimum: 3}}}}]",
        lambda got: int(read_query(got)["f[x]"][0]) >= 3,
    ),
    "a cookie": Rest(
        "GET /a",
        "parameters: [{name: session, in: cookie, required: true, schema: {type: string, minLength: 8}}]",
        lambda got: len(SimpleCookie(got.headers["cookie"])["session"].value) >= 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REST)
def test_requests_satisfy_the_document(name: str, tmp_path: Path) -> None:
    """What was drafted is sent as it is written, and is what the document asks for."""
    case = REST[name]
    (tmp_path / "shop.yaml").write_text(case.document, encoding="utf-8")
    named = ("--openapi", tmp_path / "shop.yaml", "--rest", case.request)
    drafted = wirebench("init", *named, "--out", tmp_path / "out")
    assert drafted.status == 0, drafted.stderr
    with record_rest() as service:
        _send(tmp_path / "out/shop.yaml", "rest", service.address, tmp_path)

    assert [case.accepts(each) for each in service.received] == [True]


class Call(NamedTuple):
    """Proto files, an operation of them, and whether the service takes the message it gets."""

    files: Mapping[str, str]
    named: tuple[str, str]
    accepts: Callable[[Any], bool]
    #: Path, query and body of the REST request, where the call has a rule.
    rest: tuple[str, dict[str, list[str]], Any] | None = None


_THREE = 'syntax = "proto3";\npackage shop;\n'
_SERVICE = "service Shop { rpc Do(Ask) returns (Ask); }\n"
_HTTP = 'import "google/api/annotations.proto";\n'


def _ruled(rule: str, messages: str) -> Mapping[str, str]:
    return {
        "a.proto": f"{_THREE}{_HTTP}service Shop {{ rpc Do(Ask) returns (Ask) {{ option (google.api.http) = {rule}; }} }}\n"
        f"{messages}"
    }


CALLS = {
    "proto2 with required fields and a group": Call(
        {"a.proto": f'syntax = "proto2";\npackage shop;\n{_SERVICE}message Ask {{ required int32 id = 1; optional group Part = 2 {{ required string name = 3; }} }}\n'},
        ("--grpc", "shop.Shop/Do"),
        lambda ask: ask.IsInitialized() and ask.id == 1 and ask.part.name == "name",
    ),
    "well-known types": Call(
        {"a.proto": f'{_THREE}import "google/protobuf/timestamp.proto";\nimport "google/protobuf/wrappers.proto";\nimport "google/protobuf/any.proto";\n{_SERVICE}message Ask {{ google.protobuf.Timestamp at = 1; google.protobuf.Int64Value n = 2; google.protobuf.Any any = 3; }}\n'},
        ("--grpc", "shop.Shop/Do"),
        lambda ask: ask.at.seconds > 0 and ask.n.value == 1 and not ask.HasField("any"),
    ),
    "a rule whose body is a field": Call(
        _ruled('{ post: "/v1/items" body: "item" }', "message Ask { Item item = 1; bool dry = 2; }\nmessage Item { int32 n = 1; }\n"),
        ("--pair", "POST /v1/items = shop.Shop/Do"),
        lambda ask: ask.item.n == 1 and ask.dry,
        rest=("/v1/items", {"dry": ["true"]}, {"n": 1}),
    ),
    "dotted and typed variables": Call(
        _ruled('{ patch: "/v1/{item.name=shelves/*}" body: "*" }', "message Ask { Item item = 1; string note = 2; }\nmessage Item { string name = 1; int32 n = 2; }\n"),
        ("--pair", "PATCH /v1/{item.name=shelves/*} = shop.Shop/Do"),
        lambda ask: ask.item.name == "shelves/1" and ask.item.n == 1 and ask.note,
        rest=("/v1/shelves/1", {}, {"item": {"n": 1}, "note": "note"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_messages_satisfy_the_protos(name: str, tmp_path: Path) -> None:
    """A service that knows the protos reads the values that were drafted."""
    case = CALLS[name]
    for file, text in case.files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    proto = tmp_path / "a.proto"
    drafted = wirebench("init", "--proto", proto, "--imports", tmp_path, *case.named, "--out", tmp_path / "out")
    assert drafted.status == 0, drafted.stderr
    application = tmp_path / "out/shop.yaml"
    compiled = tmp_path / "a.binpb"
    compiled.write_bytes(compile_schema([proto], [tmp_path]))
    with record_grpc() as service:
        _send(application, "grpc", service.address, tmp_path, compiled)
    kind = _find_request(compiled.read_bytes())

    assert [bool(case.accepts(kind.FromString(each.body))) for each in service.received] == [True]
    if case.rest:
        with record_rest() as service:
            _send(application, "rest", service.address, tmp_path, compiled)
        (got,) = service.received
        assert case.rest == (urlsplit(got.path).path, read_query(got), json.loads(got.body) if got.body else None)


def _find_request(descriptors: bytes) -> type[Message]:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMethodByName("shop.Shop.Do").input_type)


def _send(application: Path, transport: Transport, address: str, folder: Path, descriptors: Path = CONTRACT) -> None:
    """Send the operation of a file once. Raises AssertionError if the reply isn't as the file expects it."""
    (operation,) = yaml.safe_load(application.read_text(encoding="utf-8"))["operations"]
    own = replace(
        cell(transport, "wireload", operation=operation),
        variant=transport,
        implementation=None,
        runtime=None,
        store=None,
    )
    job = replace(
        JOB, cell=own, address=address, application=application, descriptors=descriptors, output=folder / "out.json"
    )
    assert [""] == [answer.problem for answer in send_requests(job, 1)]
