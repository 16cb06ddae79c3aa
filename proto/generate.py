"""Writes what follows from the protos: `make proto` runs it by scripts/generate-proto.

The protos come as a set of descriptors, with the HTTP rules (google.api.http) and comments. Stubs are generated without
the rules: no service and no client needs Google's packages for them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import openapi
import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet


def main() -> None:
    """Read a set of descriptors, and write what is generated below a folder; stubs' descriptors beside the first."""
    annotated, output = map(Path, sys.argv[1:3])
    every = FileDescriptorSet.FromString(annotated.read_bytes()).file
    base = yaml.safe_load(Path(__file__).with_name("openapi.base.yaml").read_text(encoding="utf-8"))
    (output / "proto/openapi.yaml").write_text(openapi.describe(every, base), encoding="utf-8")
    files = [file for file in every if file.name.startswith("wirebench/")]
    for file in files:
        del file.dependency[:]
        for service in file.service:
            for method in service.method:
                method.ClearField("options")
    write_descriptors(annotated.parent / "plain.binpb", files)
    for file in files:
        file.name = file.name.replace("wirebench/v1", "wirebench_proto")
    write_descriptors(annotated.parent / "python.binpb", files)
    for file in files:
        file.ClearField("source_code_info")
        file.name = file.name.replace("wirebench_proto", "wirebench/v1")
    write_descriptors(output / "proto/contract.binpb", files)


def write_descriptors(path: Path, files: list[FileDescriptorProto]) -> None:
    """Write a set of descriptors."""
    path.write_bytes(FileDescriptorSet(file=files).SerializeToString())


if __name__ == "__main__":
    main()
