"""Requests and replies in the two encodings; the JSON mapping of proto3 is the bridge between them."""

from __future__ import annotations

import base64
import functools
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message

from wirebench.drivers.clients.client import ClientError, Fields
from wirebench.model.application import Request, load_builtin
from wirebench.system.paths import CONTRACT


@dataclass(frozen=True, slots=True)
class OperationMessages:
    """An operation of the application: its requests on each transport, and its messages."""

    rest: Request
    grpc: Request
    socket: Request
    request: type[Message]
    response: type[Message]
    message: Descriptor

    def encode(self, fields: Fields) -> bytes:
        """Return fields as its request message. Raises ClientError if protobuf can't say them."""
        try:
            return json_format.ParseDict(_to_json(fields), self.request()).SerializeToString()
        except (json_format.ParseError, UnicodeError) as error:
            name = self.request.DESCRIPTOR.name
            raise ClientError(f"can't be encoded as protobuf {name}: {error}", "correct the fields") from None

    def decode(self, body: bytes) -> tuple[str, object]:
        """Return message and data of its response message. Raises ValueError."""
        try:
            response = self.response.FromString(body)
        except DecodeError as error:
            raise ValueError(str(error)) from None
        reply = json_format.MessageToDict(response, preserving_proto_field_name=True)
        # An empty list is a list of no users; MessageToDict leaves it out.
        empty: object = [] if self.response.DESCRIPTOR.fields_by_name["data"].is_repeated else None
        return reply.get("message", ""), convert_json(reply.get("data", empty))


def find_operation(name: str, *, stream: bool = False) -> OperationMessages:
    """Return the operation of a name: one with a single reply, or a stream. Raises ClientError."""
    known = [each for each, operation in load_builtin().operations.items() if operation.stream == stream]
    if name not in known:
        raise ClientError(f"no {'stream' if stream else 'operation'} {name!r}", f"there are {', '.join(known)}")
    return _load_operation(name)


@functools.cache
def _load_operation(name: str) -> OperationMessages:
    found = load_builtin().operations[name]
    if not (found.rest and found.grpc and found.socket):
        raise ClientError(f"{name} is not on all transports", "complete it in the application file")
    service, _, method = found.grpc["call"].partition("/")
    described = _load_descriptors()[0].FindServiceByName(service).methods_by_name[method]
    request, response = map(message_factory.GetMessageClass, (described.input_type, described.output_type))
    return OperationMessages(found.rest, found.grpc, found.socket, request, response, described.input_type)


@functools.cache
def _load_descriptors() -> tuple[DescriptorPool, frozenset[str]]:
    """Return the contract's messages, and the names of their fields that are bytes."""
    pool = DescriptorPool()
    files = FileDescriptorSet.FromString(CONTRACT.read_bytes()).file
    for file in files:
        pool.Add(file)
    fields = (field for file in files for message in file.message_type for field in message.field)
    return pool, frozenset(field.name for field in fields if field.type == FieldDescriptor.TYPE_BYTES)


def encode_json(fields: object) -> bytes:
    """Return fields as JSON. Raises ClientError if JSON can't say them."""
    try:
        return orjson.dumps(_to_json(fields))
    except TypeError as error:
        raise ClientError(f"can't be encoded as JSON: {error}", "correct the fields") from None


def convert_json(value: Any) -> object:  # noqa: ANN401 - any JSON
    """Return a reply's `data` with bytes as bytes. Raises ValueError."""
    if isinstance(value, list):
        return [convert_json(item) for item in value]
    if isinstance(value, dict):
        in_base64 = _load_descriptors()[1]
        return {
            name: base64.b64decode(str(item), validate=True) if name in in_base64 else item
            for name, item in value.items()
        }
    return value


def _to_json(value: object) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: _to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    return value
