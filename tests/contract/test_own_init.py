"""What `wirebench init` drafts of a schema is accepted by a service that checks it."""

# ruff: noqa: E501 - schemas are written as their authors would

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from dataclasses import replace
from http.cookies import SimpleCookie
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import grpc
import pytest
import yaml
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

from tests.support import command_line
from tests.support.http_servers import QuietHandler, serving
from tests.support.jobs import JOB, cell
from tests.support.runs import needs_tools, only_run, wirebench
from wirebench.drivers.wireload import compile_schema, send_requests
from wirebench.model.contract import Transport
from wirebench.system.paths import CONTRACT, ROOT

pytestmark = needs_tools


class Received(NamedTuple):
    """A REST request as a service sees it."""

    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON
        """Its body as JSON."""
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, list[str]]:
        """Its body as fields of a form."""
        return parse_qs(self.body.decode(), keep_blank_values=True)


class Rest(NamedTuple):
    """A document, a request of it, and whether the service takes what it gets."""

    document: str
    request: str
    accepts: Callable[[Received], bool]


_HEAD = "openapi: {version}\ninfo: {{title: Shop, version: '1'}}\npaths:\n"


def _operation(path: str, method: str, parts: str, version: str = "3.1.0", rest: str = "") -> str:
    return f"{_HEAD.format(version=version)}  {path}:\n    {method}:\n{parts}      responses: {{'200': {{description: a}}}}\n{rest}"


def _body(media_type: str, schema: str) -> str:
    return f"      requestBody: {{required: true, content: {{{media_type}: {{schema: {schema}}}}}}}\n"


def _parameter(text: str) -> str:
    return f"      parameters: [{text}]\n"


REST = {
    "3.0 with nullable and limits": Rest(
        _operation(
            "/items/{id}",
            "get",
            _parameter("{name: id, in: path, required: true, schema: {type: integer, minimum: 100, exclusiveMinimum: true}}"),
            "3.0.3",
        ),
        "GET /items/{id}",
        lambda got: int(got.path.rpartition("/")[2]) > 100,
    ),
    "Swagger 2.0 with a base path": Rest(
        "swagger: '2.0'\ninfo: {title: Shop, version: '1'}\nbasePath: /v2\nconsumes: [application/json]\npaths:\n  /pets:\n"
        "    put:\n      parameters: [{name: pet, in: body, required: true, schema: {type: object, required: [tag],"
        " properties: {tag: {type: string, enum: [new]}}}}]\n      responses: {'200': {description: a}}\n",
        "PUT /pets",
        lambda got: got.path == "/v2/pets" and got.json == {"tag": "new"},
    ),
    "a form": Rest(
        _operation("/a", "post", _body("application/x-www-form-urlencoded", "{type: object, required: [t, n], properties: {t: {type: array, minItems: 2, items: {enum: ['a b']}}, n: {type: integer}}}")),
        "POST /a",
        lambda got: got.form["t"] == ["a b", "a b"] and got.form["n"][0].lstrip("-").isdigit(),
    ),
    "deepObject": Rest(
        _operation("/a", "get", _parameter("{name: f, in: query, required: true, style: deepObject, explode: true, schema: {type: object, required: [x], properties: {x: {type: integer, minimum: 3}}}}")),
        "GET /a",
        lambda got: int(got.query["f[x]"][0]) >= 3,
    ),
    "a header": Rest(
        _operation("/a", "get", _parameter("{name: X-Tenant, in: header, required: true, schema: {type: string, pattern: '^t-[0-9]{3}$'}}")),
        "GET /a",
        lambda got: bool(re.fullmatch("t-[0-9]{3}", got.headers["X-Tenant"])),
    ),
    "a cookie": Rest(
        _operation("/a", "get", _parameter("{name: session, in: cookie, required: true, schema: {type: string, minLength: 8}}")),
        "GET /a",
        lambda got: len(SimpleCookie(got.headers["Cookie"])["session"].value) >= 8,
    ),
    "examples of its author": Rest(
        _operation("/a/{id}", "get", _parameter("{name: id, in: path, required: true, example: b-17, schema: {type: string}}")),
        "GET /a/{id}",
        lambda got: got.path == "/a/b-17",
    ),
}  # fmt: skip


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Received]]]:
    """Start a REST service that keeps what it gets; yield its address."""
    received: list[Received] = []

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def keep(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            target = urlsplit(self.path)
            received.append(
                Received(target.path, parse_qs(target.query, keep_blank_values=True), dict(self.headers), body)
            )
            self.answer(200, b"{}")

        do_GET = do_POST = do_PUT = do_PATCH = keep  # noqa: N815 - names of http.server

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield address, received


@pytest.mark.parametrize("name", REST)
def test_requests_satisfy_the_document(name: str, receiver: tuple[str, list[Received]], tmp_path: Path) -> None:
    """What was drafted is sent as it is written, and is what the document asks for."""
    case = REST[name]
    (tmp_path / "shop.yaml").write_text(case.document, encoding="utf-8")
    address, received = receiver
    drafted = command_line.wirebench(
        "init",
        "--openapi",
        tmp_path / "shop.yaml",
        "--rest",
        case.request,
        "--address",
        address,
        "--out",
        tmp_path / "out",
    )
    assert drafted.status == 0, drafted.stderr
    _send(tmp_path / "out/shop.yaml", "rest", address, tmp_path)

    assert [case.accepts(each) for each in received] == [True]


class Call(NamedTuple):
    """Proto files, an operation of them, and whether the service takes the message it gets."""

    files: Mapping[str, str]
    named: tuple[str, str]
    accepts: Callable[[Any], bool]
    roots: tuple[str, ...] = (".",)
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
    "imports from two roots": Call(
        {
            "one/a.proto": f'{_THREE}import "b.proto";\nservice Shop {{ rpc Do(other.Part) returns (other.Part); }}\n',
            "two/b.proto": 'syntax = "proto3";\npackage other;\nmessage Part { repeated int64 ids = 1; map<string, bool> flags = 2; }\n',
        },
        ("--grpc", "shop.Shop/Do"),
        lambda ask: list(ask.ids) == [1] and not ask.flags,
        ("one", "two"),
    ),
    "well-known types": Call(
        {"a.proto": f'{_THREE}import "google/protobuf/timestamp.proto";\nimport "google/protobuf/wrappers.proto";\nimport "google/protobuf/any.proto";\n{_SERVICE}message Ask {{ google.protobuf.Timestamp at = 1; google.protobuf.Int64Value n = 2; google.protobuf.Any any = 3; }}\n'},
        ("--grpc", "shop.Shop/Do"),
        lambda ask: ask.at.seconds > 0 and ask.n.value == 1 and not ask.HasField("any"),
    ),
    "enums and a oneof": Call(
        {"a.proto": f"{_THREE}{_SERVICE}enum Kind {{ NONE = 0; BOOK = 1; }}\nmessage Ask {{ Kind kind = 1; oneof who {{ string person = 2; string firm = 3; }} }}\n"},
        ("--grpc", "shop.Shop/Do"),
        lambda ask: ask.kind == 1 and ask.person and not ask.firm,
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
    "a oneof in the path": Call(
        _ruled('{ get: "/v1/firms/{firm}" }', "message Ask { oneof who { string person = 1; int32 firm = 2; } }\n"),
        ("--pair", "GET /v1/firms/{firm} = shop.Shop/Do"),
        lambda ask: ask.firm == 1 and not ask.person,
        rest=("/v1/firms/1", {}, None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_messages_satisfy_the_protos(name: str, receiver: tuple[str, list[Received]], tmp_path: Path) -> None:
    """A service that knows the protos reads the values that were drafted."""
    case = CALLS[name]
    for file, text in case.files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    proto, roots = tmp_path / next(iter(case.files)), [tmp_path / each for each in case.roots]
    imports = [option for each in roots for option in ("--imports", each)]
    drafted = command_line.wirebench("init", "--proto", proto, *imports, *case.named, "--out", tmp_path / "out")
    assert drafted.status == 0, drafted.stderr
    application = tmp_path / "out/shop.yaml"
    compiled = tmp_path / "a.binpb"
    compiled.write_bytes(compile_schema([proto], roots, tmp_path))
    with _grpc_service() as (grpc_address, messages):
        _send(application, "grpc", grpc_address, tmp_path, compiled)
    kind = _find_request(compiled.read_bytes())

    assert [bool(case.accepts(kind.FromString(each))) for each in messages] == [True]
    if case.rest:
        address, received = receiver
        _send(application, "rest", address, tmp_path, compiled)
        path, query, body = case.rest
        assert [(path, query, body)] == [(each.path, each.query, each.json if each.body else None) for each in received]


@contextlib.contextmanager
def _grpc_service() -> Iterator[tuple[str, list[bytes]]]:
    """Start a gRPC service that has any method, and answers what it was sent; yield its address and that."""
    received: list[bytes] = []

    class Methods(grpc.GenericRpcHandler):
        def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
            def answer(request: bytes, _: grpc.ServicerContext) -> bytes:
                received.append(request)
                return request

            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(futures.ThreadPoolExecutor(1), [Methods()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", received
    finally:
        server.stop(None).wait()


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


@pytest.fixture
def commands() -> list[str]:
    """Return the options that start our services as if they were foreign."""
    options = ("--admin-port", "{admin_port}", "--port", "{port}")
    folder = Path(sys.executable).parent
    started = {kind: " ".join((f"{folder}/wirebench-{kind}", *options)) for kind in ("rest", "grpc")}
    return [option for kind, command in started.items() for option in ("--start", f"{kind}={command}")]


@pytest.mark.slow
def test_what_init_writes_is_measured(commands: list[str], tmp_path: Path) -> None:
    """From protos and an OpenAPI document to records of both variants, with nothing edited but the id."""
    described = ("--proto", ROOT / "proto/wirebench/v1/ledger.proto", "--imports", ROOT / "proto")
    pair = "GET /accounts/{account_id}/balance = wirebench.v1.LedgerService/GetBalance"
    document = ("--openapi", ROOT / "proto/openapi.yaml")
    written = wirebench("init", *described, *document, "--pair", pair, *commands, "--out", tmp_path)
    assert written.returncode == 0, written.stderr
    (scenario,) = tmp_path.glob("*-scenario.yaml")
    shorter = scenario.read_text().replace("window_s: 3", "window_s: 0.5").replace("[1, 16]", "2")
    scenario.write_text(shorter)
    done = wirebench("run", scenario, "--blocks", "2", "--no-calibrate", "--out", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    records = only_run(tmp_path / "results").records
    assert {"rest", "grpc"} == {record.factors["variant"] for record in records}
    assert all(record.requests > 0 and not record.errors for record in records)
