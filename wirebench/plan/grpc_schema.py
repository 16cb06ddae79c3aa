"""gRPC schemas: read from proto files, compiled sets or server reflection, and checked against an application."""

from __future__ import annotations

import importlib
import importlib.util
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, EncodeError, Message

from wirebench.errors import UsageError, suggest
from wirebench.model.application import Application, Grpc, Operation
from wirebench.model.inputs import InputContext
from wirebench.model.source import FieldPath
from wirebench.model.template import render
from wirebench.model.variant import Variant
from wirebench.system.files import is_file
from wirebench.system.processes import ProcessError, run

#: The value of `schema` for server reflection.
REFLECTION = "reflection"
#: Services that belong to no application.
INFRASTRUCTURE = re.compile(r"grpc\.(reflection|health|channelz)\.")
_PROTOC_TIMEOUT_S = 60.0
#: A place in a file, as protoc names it.
_PLACED = re.compile(r":\d+:\d+: ")
#: Protos that come with Python packages.
GOOGLE_PROTO = re.compile(r"google/(protobuf|api|rpc|type)/\w+\.proto")
#: Messages whose JSON isn't an object of their fields: any JSON, or a single value.
_ANY_JSON = {f"google.protobuf.{name}" for name in ("Any", "Struct", "Value", "ListValue")}
ONE_VALUE = {
    f"google.protobuf.{name}"
    for name in (
        "Timestamp", "Duration", "FieldMask", "BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value",
        "Int64Value", "StringValue", "UInt32Value", "UInt64Value",
    )
}  # fmt: skip


def read_descriptors(variant: Variant, folder: Path) -> bytes:
    """Return the FileDescriptorSet of a variant's proto files or compiled sets, which are relative to a folder.

    Raises UsageError.
    """
    paths = [folder / name for name in variant.schema_]
    for path in paths:
        if not is_file(path):
            raise UsageError(f"{path}: no such file", f"name proto files, a compiled set (.binpb), or {REFLECTION}")
    protos = [path for path in paths if path.suffix == ".proto"]
    files = [file for path in paths if path not in protos for file in _read_compiled(path)]
    if protos:
        imports = [folder / each for each in variant.imports] or [folder]
        files += FileDescriptorSet.FromString(compile_protos(protos, imports)).file
    return FileDescriptorSet(file=sort_files(files)).SerializeToString()


def _read_compiled(path: Path) -> Iterable[FileDescriptorProto]:
    try:
        if files := FileDescriptorSet.FromString(path.read_bytes()).file:
            return files
    except DecodeError:
        pass  # as one without files
    hint = "write one by `protoc --include_imports --descriptor_set_out` or `buf build`, or name proto files"
    raise UsageError(f"{path}: not a compiled set of descriptors", hint)


def compile_protos(protos: Sequence[Path], imports: Sequence[Path]) -> bytes:
    """Return the FileDescriptorSet of proto files and all that they import. Raises UsageError, with protoc's line.

    Files that aren't below a folder of imports are found in their own. Google's own protos are always there.
    """
    below = [*imports, *(each.parent for each in protos if not any(each.is_relative_to(top) for top in imports))]
    with tempfile.TemporaryDirectory(prefix="wirebench-") as made:
        output = Path(made) / "descriptors.binpb"
        arguments: list[str | Path] = [
            *(f"--proto_path={folder}" for folder in dict.fromkeys([*below, *_find_google_protos()])),
            "--include_imports",
            f"--descriptor_set_out={output}",
            *protos,
        ]
        try:
            run("protoc", [sys.executable, "-m", "grpc_tools.protoc", *arguments], _PROTOC_TIMEOUT_S)
        except ProcessError as error:
            first, *others = _explain_protoc(error)
            raise UsageError(first, "correct the proto file, or `imports`", "\n".join(others)) from None
        return output.read_bytes()


def _find_google_protos() -> Iterator[Path]:
    """Yield the folders of google/protobuf/*.proto and of google/api/*.proto, which come with Python packages."""
    for module, below in (("grpc_tools", "_proto"), ("google.api.annotations_pb2", "../..")):
        found = importlib.util.find_spec(module)  # not imported: only where it is matters
        if found and found.origin:
            yield (Path(found.origin).parent / below).resolve()


def _explain_protoc(error: ProcessError) -> list[str]:
    lines = [line for line in error.details.splitlines() if ": warning: " not in line and line.strip()]
    return sorted(lines, key=lambda line: not _PLACED.search(line)) or [error.message]


def sort_files(files: Iterable[FileDescriptorProto]) -> list[FileDescriptorProto]:
    """Return files, each once, behind those that they import."""
    waiting = {file.name: file for file in files}
    ordered: list[FileDescriptorProto] = []

    def visit(name: str) -> None:
        if file := waiting.pop(name, None):
            for each in file.dependency:
                visit(each)
            ordered.append(file)

    while waiting:
        visit(next(iter(waiting)))
    return ordered


class Schema:
    """The messages and services of a FileDescriptorSet."""

    def __init__(self, descriptors: bytes) -> None:
        """Read it. Raises UsageError if it isn't complete."""
        self.pool = DescriptorPool()
        self.services: dict[str, ServiceDescriptor] = {}
        for file in sort_files(FileDescriptorSet.FromString(descriptors).file):
            try:
                self.pool.Add(file)
            except TypeError as error:
                hint = "compile it with all that it imports, by `protoc --include_imports` or `buf build`"
                raise UsageError(f"{file.name}: its descriptors aren't complete: {error}", hint) from None
            for service in self.pool.FindFileByName(file.name).services_by_name.values():
                self.services[service.full_name] = service

    def build_message(self, descriptor: Descriptor, fields: Mapping[str, Any]) -> Message:
        """Return a message of these fields, in JSON form. Raises ValueError for what doesn't fit."""
        message = message_factory.GetMessageClass(descriptor)()
        try:
            json_format.ParseDict(dict(fields), message, descriptor_pool=self.pool)
            message.SerializeToString()
        except (json_format.ParseError, EncodeError) as error:
            raise ValueError(" ".join(str(error).split())) from None
        return message


class _SchemaProblem(NamedTuple):
    """What is wrong with a key of an operation, and the fix."""

    field: FieldPath
    text: str
    fix: str


def check_messages(application: Application, variant_name: str, descriptors: bytes) -> None:
    """Check that a gRPC variant has all calls, messages and paths that operations name.

    Raises UsageError with file, line and fix.
    """
    schema = Schema(descriptors)
    sent = application.select_variant(variant_name)
    errors = [
        (application.locate(("operations", name, *_locate_request(operation, variant_name, found.field))), found)
        for name, operation in sent.operations.items()
        if operation.grpc
        for found in _check_operation(sent, name, operation.grpc, schema)
    ]
    if errors:
        first, *others = (f"{where}: {found.text}" for where, found in errors)
        raise UsageError(f"{first} (variant {variant_name})", errors[0][1].fix, "\n".join(others))


def _locate_request(operation: Operation, variant_name: str, field: FieldPath) -> FieldPath:
    """Return where a field is written: a variant's own request is among `variants`."""
    is_own = variant_name in operation.variants and field[0] == "grpc"
    return ("variants", variant_name, *field[1:]) if is_own else field


def _check_operation(application: Application, name: str, given: Grpc, schema: Schema) -> Iterator[_SchemaProblem]:
    service_name, _, method_name = given.call.partition("/")
    service = schema.services.get(service_name)
    if service is None:
        yield _SchemaProblem(
            ("grpc", "call"), f"there is no service {service_name}", suggest(service_name, schema.services)
        )
        return
    method = service.methods_by_name.get(method_name)
    if method is None:
        text, fix = f"{service_name} has no method {method_name}", suggest(method_name, service.methods_by_name)
        yield _SchemaProblem(("grpc", "call"), text, fix)
        return
    operation = application.operations[name]
    if method.client_streaming:
        text = f"{given.call} is a client stream"
        yield _SchemaProblem(("grpc", "call"), text, "choose a unary call or a server stream")
    elif method.server_streaming != operation.stream:
        kind, fix = ("a server stream", "add `stream: true`") if method.server_streaming else ("unary", "remove stream")
        yield _SchemaProblem(("grpc", "call"), f"{given.call} is {kind}", fix)
    yield from _check_request(application, name, given, method.input_type, schema)
    for path in given.expect:
        yield from _check_path(method.output_type, path, ("grpc", "expect", path))
    for place, each in enumerate(operation.same):
        if "grpc" in each:
            yield from _check_path(method.output_type, each["grpc"], ("same", place, "grpc"))


def _check_request(
    application: Application, name: str, given: Grpc, message: Descriptor, schema: Schema
) -> Iterator[_SchemaProblem]:
    operation = application.operations[name]
    for payload in (None, *filter(operation.takes, application.payloads)):
        pick = random.Random(0)  # noqa: S311 - load, not a secret
        drawing = InputContext(pick, payload=payload, stream={"items": 1, "rate_limit_per_s": 1})
        try:
            schema.build_message(message, render(given.message, application.draw(name, drawing)))
        except ValueError as error:
            yield _SchemaProblem(("grpc", "message"), str(error), f"see the message {message.full_name}")
            return


def _check_path(message: Descriptor, path: str, field: FieldPath) -> Iterator[_SchemaProblem]:
    """Find the first part of a path that a message's JSON doesn't have."""
    at: Descriptor | None = message
    #: Behind a repeated field stands an item's place, and behind a map a key.
    in_many = False
    for key in path.split(".") if path else ():
        if in_many:
            in_many = False
            continue
        if at is None:
            yield _SchemaProblem(field, f"{path}: {key} is inside a value that has no fields", "shorten the path")
            return
        if at.full_name in _ANY_JSON:
            return
        found = at.fields_by_name.get(key)
        if found is None:
            yield _SchemaProblem(field, f"{path}: {at.full_name} has no field {key}", suggest(key, at.fields_by_name))
            return
        in_many = found.is_repeated
        at = found.message_type
        if entry := find_map_entry(found):
            at = entry.fields_by_name["value"].message_type
        if at and at.full_name in ONE_VALUE:
            at = None


def find_map_entry(field: FieldDescriptor) -> Descriptor | None:
    """Return the message of an entry, key and value, if a field is a map."""
    entry = field.message_type
    return entry if entry and entry.GetOptions().map_entry else None
