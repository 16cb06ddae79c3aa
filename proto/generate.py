"""Writes what follows from the protos and the application file: `make proto` runs it by scripts/generate-proto.

The protos come as a set of descriptors, with the HTTP rules (google.api.http) and comments. Stubs are generated without
the rules: no service and no client needs Google's packages for them.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Self

import openapi
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from wirebench.errors import WirebenchError
from wirebench.model.application import Application, load_builtin
from wirebench.model.inputs import Input, InputContext, Seeded, draw

#: How many records a request of many has in a configuration that runs by hand.
_MANY = 3


def main() -> None:
    """Read a set of descriptors, and write what is generated below a folder; stubs' descriptors beside the first."""
    annotated, output = map(Path, sys.argv[1:3])
    every = FileDescriptorSet.FromString(annotated.read_bytes()).file
    application = load_builtin()
    (output / "proto/openapi.yaml").write_text(openapi.describe(every, application), encoding="utf-8")
    files = [file for file in every if file.name.startswith("wirebench/")]
    for file in files:
        _strip_rules(file)
    write_descriptors(annotated.parent / "plain.binpb", files)
    for file in files:
        file.name = file.name.replace("wirebench/v1", "wirebench_proto")
    write_descriptors(annotated.parent / "python.binpb", files)
    for file in files:
        file.ClearField("source_code_info")
        file.name = file.name.replace("wirebench_proto", "wirebench/v1")
    write_descriptors(output / "proto/contract.binpb", files)
    for name, configuration in ghz_configurations(application).items():
        write_json(output / f"ghz/{name}.json", configuration)


def write_descriptors(path: Path, files: list[FileDescriptorProto]) -> None:
    """Write a set of descriptors."""
    path.write_bytes(FileDescriptorSet(file=files).SerializeToString())


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON that people can read."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _strip_rules(file: FileDescriptorProto) -> None:
    del file.dependency[:]
    for service in file.service:
        for method in service.method:
            method.ClearField("options")


def ghz_configurations(application: Application) -> dict[str, object]:
    """Return ghz's configuration of each gRPC operation, with templates of ghz in the place of what varies."""
    return {
        name: {
            "protoset": "proto/contract.binpb",
            "call": operation.grpc.call,
            "host": "127.0.0.1:50051",
            "insecure": True,
            "concurrency": 8,
            "connections": 8,
            "duration": "10s",
            "duration-stop": "wait",
            "count-errors": True,
            "data": operation.request_grpc(_templates(operation.inputs, application.seeded)),
        }
        for name, operation in application.operations.items()
        if operation.grpc
    }


class _Numbered(str):
    """An id in ghz's words: over 1,000,000,000, with three digits for the place among those of one request."""

    __slots__ = ()

    def __new__(cls, place: int = 0) -> Self:
        return super().__new__(cls, f"1{{{{printf `%06d` .RequestNumber}}}}{place:03d}")

    def __add__(self, place: object) -> _Numbered:
        return _Numbered(int(str(place)))


def _templates(inputs: dict[str, Input], seeded: dict[str, Seeded]) -> dict[str, object]:
    many = any(each.repeat for each in inputs.values())
    drawing = InputContext(
        random.Random(1),  # noqa: S311 - load, not a secret
        seeded=seeded,
        payload=_MANY if many else None,
        fresh=_Numbered(),
        created=_Numbered(),
        stream={"items": 1000},
    )
    return draw({name: _template(each, seeded) for name, each in inputs.items()}, drawing)


def _template(given: Input, seeded: dict[str, Seeded]) -> Input:
    if given.seeded:
        first = seeded[given.seeded].first + given.offset
        # A page begins early enough to be full, whatever its size.
        last = first + seeded[given.seeded].count // (1 if given.count == 1 else 2) - 1
        return Input(value=f"{{{{randomInt {first} {last}}}}}")
    if given.range:
        return Input(value=f"{{{{randomInt {given.range[0]} {given.range[1]}}}}}")
    return given


if __name__ == "__main__":
    try:
        main()
    except WirebenchError as error:
        sys.exit(f"error: {error.message}\nnext: {error.hint}")
