"""The messages of gRPC variants: from proto files, compiled sets and reflection, and what must be in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_reflection.v1alpha import reflection, reflection_pb2

from tests.support.certificates import Certificate, make
from wirebench.drivers.clients.reflection import reflect
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import read_application
from wirebench.model.variant import Variant
from wirebench.plan.grpc_schema import Schema, check_messages, compile_protos, read_descriptors
from wirebench.system.tls import ClientTls

PROTO = """\
syntax = "proto3";
package shop.v1;
import "google/api/annotations.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "types/color.proto";
service Catalog {
  rpc GetItem(GetItemRequest) returns (Item) { option (google.api.http) = { get: "/v1/items/{id}" }; }
  rpc WatchItems(GetItemRequest) returns (stream Item);
  rpc SendItems(stream Item) returns (Item);
}
message GetItemRequest { int64 id = 1; types.Color color = 2; }
message Item {
  int64 id = 1;
  string name = 2;
  repeated Item parts = 3;
  map<string, Item> related = 4;
  google.protobuf.Timestamp made = 5;
  google.protobuf.Struct notes = 6;
}
"""
COLOR = 'syntax = "proto3";\npackage types;\nenum Color { NONE = 0; RED = 1; }\n'
APPLICATION = """\
application: shop
operations:
  get:
    inputs: {id: {range: [1, 9]}}
    grpc:
      call: shop.v1.Catalog/GetItem
      message: {id: "{id}", color: RED}
      expect: {id: "{id}", parts.*.name: x, related.key.id: 1, notes.any.thing: 1, made: x, parts: {count: 1}}
    same: [{grpc: parts.0.parts.*.name}]
variants:
  grpc: {transport: grpc, address: "127.0.0.1:1", schema: protos/shop.proto, imports: protos}
"""


def write_protos(folder: Path) -> Path:
    """Write the proto files, and return their folder."""
    (folder / "types").mkdir(parents=True)
    (folder / "types/color.proto").write_text(COLOR)
    (folder / "shop.proto").write_text(PROTO)
    return folder


def variant(**keys: object) -> Variant:
    """Return a gRPC variant."""
    return Variant.model_validate({"transport": "grpc", "address": "127.0.0.1:1", **keys})


@pytest.fixture(scope="module")
def descriptors(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the compiled proto files."""
    folder = write_protos(tmp_path_factory.mktemp("protos") / "protos")
    return compile_protos([folder / "shop.proto"], [folder])


def test_proto_files_come_with_all_that_they_import(tmp_path: Path) -> None:
    """Imports are found below `imports`, and Google's own anyhow; what is imported stands first."""
    write_protos(tmp_path / "protos")
    described = read_descriptors(variant(schema="protos/shop.proto", imports="protos"), tmp_path)
    names = [file.name for file in FileDescriptorSet.FromString(described).file]
    assert "shop.proto" == names[-1]
    assert {"types/color.proto", "google/protobuf/timestamp.proto", "google/api/http.proto"} < set(names)
    assert ["shop.v1.Catalog"] == list(Schema(described).services)


def test_compiled_sets_are_joined(tmp_path: Path, descriptors: bytes) -> None:
    """A file that several sets have is there once."""
    (tmp_path / "a.binpb").write_bytes(descriptors)
    (tmp_path / "b.binpb").write_bytes(descriptors)
    joined = read_descriptors(variant(schema=["a.binpb", "b.binpb"]), tmp_path)
    assert FileDescriptorSet.FromString(descriptors) == FileDescriptorSet.FromString(joined)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("none.proto", None, "none.proto: no such file"),
        ("a.binpb", b"no", "a.binpb: not a compiled set"),
        ("a.proto", b'syntax = "proto3";\nmessage A { B b = 1; }\n', 'a.proto:2:13: "B" is not defined'),
        ("a.proto", b'syntax = "proto3";\nimport "b.proto";\n', 'a.proto:2:1: Import "b.proto" was not found'),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes | None, expected: str) -> None:
    """A file that isn't there, isn't what it should be or doesn't compile: one line, with protoc's own place."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_descriptors(variant(schema=name), tmp_path)
    assert expected in error.value.message
    assert "\n" not in error.value.message
    assert error.value.hint


def test_a_set_without_its_imports_is_named(descriptors: bytes) -> None:
    """Descriptors of a file alone are of no use."""
    last = FileDescriptorSet.FromString(descriptors).file[-1]
    with pytest.raises(UsageError, match=r"shop\.proto: its descriptors aren't complete"):
        Schema(FileDescriptorSet(file=[last]).SerializeToString())


def test_messages_that_fit(tmp_path: Path, descriptors: bytes) -> None:
    """Paths go through lists, maps, and any JSON; a timestamp is a text."""
    (tmp_path / "a.yaml").write_text(APPLICATION)
    check_messages(read_application(tmp_path / "a.yaml"), "grpc", descriptors)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("v1.Catalog/", "v1.Catalogue/"), "6|there is no service shop.v1.Catalogue|shop.v1.Catalog"),
        (("/GetItem", "/GetItems"), "6|shop.v1.Catalog has no method GetItems|GetItem"),
        (("/GetItem", "/WatchItems"), "6|is a server stream|add `stream: true`"),
        (("/GetItem", "/SendItems"), "6|is a client stream|choose a unary call"),
        (("  get:\n", "  get:\n    stream: true\n"), "7|is unary|remove stream"),
        (('{id: "{id}", color: RED}', '{idd: "{id}"}'), '7|no field named "idd"|GetItemRequest'),
        (('{id: "{id}", color: RED}', "{id: many}"), "7|id|GetItemRequest"),
        (("color: RED", "color: BLUE"), "7|BLUE|GetItemRequest"),
        (("parts.*.name: x", "parts.*.nam: x"), "8|shop.v1.Item has no field nam|there are name"),
        (("made: x", "made.seconds: 1"), "8|seconds is inside a value that has no fields|shorten"),
        (("related.key.id", "related.key.ids"), "8|shop.v1.Item has no field ids|there are id"),
        (("grpc: parts.0", "grpc: part.0"), "9|shop.v1.Item has no field part|there are parts"),
    ],
)
def test_messages_that_do_not_fit(tmp_path: Path, descriptors: bytes, change: tuple[str, str], said: str) -> None:
    """Calls, fields, kinds and paths are checked against the schema, with line and fix."""
    (tmp_path / "a.yaml").write_text(APPLICATION.replace(*change))
    with pytest.raises(UsageError) as error:
        check_messages(read_application(tmp_path / "a.yaml"), "grpc", descriptors)
    line, expected, fix = said.split("|")
    assert f"a.yaml:{line}: operations.get." in error.value.message
    assert expected in error.value.message
    assert fix in error.value.hint


Answer = Callable[[reflection_pb2.ServerReflectionRequest], reflection_pb2.ServerReflectionResponse]


@contextmanager
def served(*versions: str, answer: Answer, certificate: Certificate | None = None, key: str = "") -> Iterator[str]:
    """Serve reflection of these versions to clients that know the key, and yield the address."""

    def call(
        requests: Iterator[reflection_pb2.ServerReflectionRequest], context: grpc.ServicerContext
    ) -> Iterator[reflection_pb2.ServerReflectionResponse]:
        expected = {("x-key", key), ("x-key-bin", key.encode())}
        if key and not expected <= set(context.invocation_metadata()):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no key")
        return map(answer, requests)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    handler = grpc.stream_stream_rpc_method_handler(
        call,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for version in versions:
        service = f"grpc.reflection.{version}.ServerReflection"
        handlers = grpc.method_handlers_generic_handler(service, {"ServerReflectionInfo": handler})
        server.add_generic_rpc_handlers((handlers,))
    port = (
        server.add_secure_port(
            "127.0.0.1:0", grpc.ssl_server_credentials([(certificate.key.read_bytes(), certificate.cert.read_bytes())])
        )
        if certificate
        else server.add_insecure_port("127.0.0.1:0")
    )
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def answer_of(descriptors: bytes) -> Answer:
    """Return a reflection that gives every file alone, as C++ and Java do."""
    pool = Schema(descriptors).pool
    servicer = reflection.ReflectionServicer(["shop.v1.Catalog", "grpc.health.v1.Health"], pool)
    everything = {file.name: file for file in FileDescriptorSet.FromString(descriptors).file}

    def answer(request: reflection_pb2.ServerReflectionRequest) -> reflection_pb2.ServerReflectionResponse:
        response: reflection_pb2.ServerReflectionResponse
        (response,) = servicer.ServerReflectionInfo(iter([request]), Mock())
        files = response.file_descriptor_response.file_descriptor_proto
        if request.file_containing_symbol:
            files[:] = [everything["shop.proto"].SerializeToString()]
        elif request.file_by_filename.startswith("google/protobuf/"):
            files[:] = []  # some servers don't have Google's own
        return response

    return answer


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
@pytest.mark.parametrize("calls", [["shop.v1.Catalog/GetItem"], []])
def test_reflection(descriptors: bytes, version: str, calls: list[str]) -> None:
    """The services of calls, or all but gRPC's own, come with all that they import, in both versions."""
    with served(version, answer=answer_of(descriptors)) as address:
        described = reflect(address, calls=calls)
    assert ["shop.v1.Catalog"] == list(Schema(described).services)


def test_reflection_over_tls_with_headers(descriptors: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The authority is that of the variant, and its headers are sent, with the values of variables."""
    monkeypatch.setenv("KEY", "k")
    certificate = make(tmp_path, "service")
    with served("v1", answer=answer_of(descriptors), certificate=certificate, key="k") as address:
        tls = ClientTls(authority=certificate.cert)
        assert descriptors == reflect(address, tls, ["shop.v1.Catalog/GetItem"], {"X-Key": "${KEY}", "X-Key-Bin": "aw"})
        with pytest.raises(WirebenchError, match="PERMISSION_DENIED: no key"):
            reflect(address, tls)


def test_reflection_that_fails(descriptors: bytes) -> None:
    """A service that isn't there, a server without reflection, and nothing that listens: one line and the fix."""
    with served("v1", answer=answer_of(descriptors)) as address:
        with pytest.raises(WirebenchError, match=r"has no service shop\.v1\.Catalogs") as error:
            reflect(address, calls=["shop.v1.Catalogs/GetItem"])
        assert "shop.v1.Catalog" in error.value.hint
    with served(answer=answer_of(descriptors)) as address:
        with pytest.raises(WirebenchError, match="serves no reflection") as error:
            reflect(address)
        assert "proto files" in error.value.hint
    with pytest.raises(WirebenchError, match="nothing listens"):
        reflect(address)
