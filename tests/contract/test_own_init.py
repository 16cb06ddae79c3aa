"""What `wirebench init` drafts of a schema is accepted by services that check it, without any edit.

Requests are checked by openapi-core, and messages are read by what protoc compiled: neither drafts anything.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import google.api
import grpc
import pytest
import yaml
from google.protobuf import message_factory, unknown_fields
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from openapi_core import OpenAPI
from openapi_core.contrib.werkzeug import WerkzeugOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from werkzeug import Request, Response
from werkzeug.serving import make_server

from tests.support.command_line import wirebench
from tests.support.http_servers import serving
from tests.support.jobs import JOB, cell
from tests.support.recorders import record_rest
from tests.support.runs import needs_tools
from wirebench.measure.answers import send_requests
from wirebench.model.contract import Transport
from wirebench.run.schema import compile_schema
from wirebench.system.paths import CONTRACT

pytestmark = needs_tools

DEFINITIONS = Path(__file__).parent / "testdata/init"
CASES = yaml.safe_load((DEFINITIONS / "cases.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES["rest"])
def test_requests_satisfy_the_document(name: str, tmp_path: Path) -> None:
    """A service that checks requests by the document answers each as the draft expects."""
    requests = CASES["rest"][name]
    application = draft(tmp_path, "--openapi", DEFINITIONS / name, *name_each("--rest", requests))
    send_to_document(application, name.replace("2.0.yaml", "2.0.served.yaml"), requests.values())


@pytest.mark.parametrize("name", CASES["grpc"])
def test_messages_satisfy_the_protos(name: str, tmp_path: Path) -> None:
    """A service with the messages of protoc reads the values that were drafted, and nothing that it doesn't know."""
    calls = CASES["grpc"][name]
    application = draft(tmp_path, "--proto", DEFINITIONS / name, *name_each("--grpc", calls))
    assert [*calls.values()] == send_to_protos(application, name, ".")


def test_a_rule_gives_both_requests(tmp_path: Path) -> None:
    """What isn't in the path is in the body, in the field that is the body, or in the query; imports have two roots."""
    name, roots, cases = "roots/api/shop/v1/shop.proto", ["roots/api", "roots/common"], CASES["rules"]
    imports = name_each("--imports", (DEFINITIONS / each for each in roots))
    application = draft(tmp_path, "--proto", DEFINITIONS / name, *imports, *name_each("--pair", cases))
    assert [each["message"] for each in cases.values()] == send_to_protos(application, name, *roots)
    with record_rest() as service:
        for operation in read_operations(application):
            send(application, operation, "rest", service.address)
    got = [(urlsplit(each.path), each.body) for each in service.received]
    assert [each["rest"] for each in cases.values()] == [
        [url.path, parse_qs(url.query), json.loads(body) if body else None] for url, body in got
    ]


def test_a_pair_sends_the_same(tmp_path: Path) -> None:
    """A message has what the request of the document has, wherever that is in either, and nothing else."""
    cases = CASES["pairs"]
    given = ("--openapi", DEFINITIONS / "catalog-3.1.yaml", "--proto", DEFINITIONS / "catalog.proto")
    application = draft(tmp_path, *given, *name_each("--pair", cases))
    assert [message for _, message in cases.values()] == send_to_protos(application, "catalog.proto", ".")
    send_to_document(application, "catalog-3.1.yaml", [status for status, _ in cases.values()])


def name_each(option: str, values: Iterable[object]) -> list[object]:
    """Return an option with each of these values."""
    return [part for each in values for part in (option, each)]


def draft(folder: Path, *options: object) -> Path:
    """Draft an application; return its file."""
    drafted = wirebench("init", *options, "--out", folder / "out")
    assert drafted.status == 0, drafted.stderr
    return next(each for each in (folder / "out").iterdir() if not each.stem.endswith("-scenario"))


def read_operations(application: Path) -> dict[str, Any]:
    """Return the operations of a file by their names."""
    operations: dict[str, Any] = yaml.safe_load(application.read_text(encoding="utf-8"))["operations"]
    return operations


def send(application: Path, operation: str, transport: Transport, address: str, descriptors: Path = CONTRACT) -> None:
    """Send an operation once. Raises AssertionError if the reply isn't as the file expects it."""
    own = cell(transport, "wireload", operation=operation)
    own = replace(own, variant=transport, implementation=None, runtime=None, store=None)
    output = application.parent / "out.json"
    job = replace(JOB, cell=own, address=address, application=application, descriptors=descriptors, output=output)
    assert [(operation, "")] == [(operation, answer.problem) for answer in send_requests(job, 1)]


def send_to_document(application: Path, name: str, statuses: Iterable[int]) -> None:
    """Send each operation to a service that answers with its status, or with 422 if the document is against it."""
    contract = OpenAPI.from_file_path(str(DEFINITIONS / name))

    @Request.application
    def answer(request: Request) -> Response:
        try:
            contract.validate_request(WerkzeugOpenAPIRequest(request))
        except OpenAPIError as error:
            print(f"{error!r}: {error.__cause__!r}: {request.url} {request.data!r}")  # noqa: T201 - pytest shows it
            return Response(status=422)
        return Response(status=status)

    with serving(make_server("127.0.0.1", 0, answer)) as address:
        for operation, status in zip(read_operations(application), statuses, strict=True):  # noqa: B007 - `answer` has it
            send(application, operation, "rest", address)


def send_to_protos(application: Path, name: str, *roots: str) -> list[Any]:
    """Send each operation to a gRPC service that rejects what isn't complete or known; return what it got, as JSON."""
    compiled, descriptors = application.parent / "protoc.binpb", application.parent / "wireload.binpb"
    folders = [DEFINITIONS / each for each in roots]
    places = [f"-I{each}" for each in (*folders, Path(google.api.__path__[0]).parents[1])]
    command = [sys.executable, "-m", "grpc_tools.protoc", "--include_imports", f"--descriptor_set_out={compiled}"]
    subprocess.run([*command, *places, DEFINITIONS / name], check=True)
    descriptors.write_bytes(compile_schema([DEFINITIONS / name], folders))
    pool, received = DescriptorPool(), []
    for file in FileDescriptorSet.FromString(compiled.read_bytes()).file:
        pool.Add(file)

    class Methods(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Message, bytes]:
            method = pool.FindMethodByName(details.method.strip("/").replace("/", "."))

            def answer(message: Message, context: grpc.ServicerContext) -> bytes:
                if not message.IsInitialized() or len(unknown_fields.UnknownFieldSet(message)):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"incomplete, or unknown: {message}")
                received.append(MessageToDict(message, preserving_proto_field_name=True))
                return b""

            def answer_stream(message: Message, context: grpc.ServicerContext) -> Iterator[bytes]:
                yield answer(message, context)

            read = message_factory.GetMessageClass(method.input_type).FromString
            if method.server_streaming:
                return grpc.unary_stream_rpc_method_handler(answer_stream, read)
            return grpc.unary_unary_rpc_method_handler(answer, read)

    server = grpc.server(futures.ThreadPoolExecutor(2), [Methods()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        for operation in read_operations(application):
            send(application, operation, "grpc", f"127.0.0.1:{port}", descriptors)
    finally:
        server.stop(None).wait()
    return received
