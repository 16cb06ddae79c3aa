"""The messages and services of a compiled gRPC schema, for drafts."""

from __future__ import annotations

import re

from google.protobuf.descriptor import Descriptor, FieldDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

#: Services that belong to no application.
INFRASTRUCTURE = re.compile(r"grpc\.(reflection|health|channelz)\.")
#: Messages whose JSON is a single value.
ONE_VALUE = {
    f"google.protobuf.{name}"
    for name in (
        "Timestamp", "Duration", "FieldMask", "BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value",
        "Int64Value", "StringValue", "UInt32Value", "UInt64Value",
    )
}  # fmt: skip


class Schema:
    """The messages and services of a FileDescriptorSet, whose files stand behind those that they import."""

    def __init__(self, descriptors: bytes) -> None:
        """Read what `wireload schema` has written."""
        self.pool = DescriptorPool()
        self.services: dict[str, ServiceDescriptor] = {}
        for file in FileDescriptorSet.FromString(descriptors).file:
            self.pool.Add(file)
            for service in self.pool.FindFileByName(file.name).services_by_name.values():
                self.services[service.full_name] = service


def find_map_entry(field: FieldDescriptor) -> Descriptor | None:
    """Return the message of an entry, key and value, if a field is a map."""
    entry = field.message_type
    return entry if entry and entry.GetOptions().map_entry else None
