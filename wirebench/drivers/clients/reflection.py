"""gRPC server reflection: the schema of a service, asked of itself."""

from __future__ import annotations

import base64
import binascii
import importlib
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from wirebench.drivers.clients.grpc import GrpcClient
from wirebench.errors import UsageError, WirebenchError, suggest
from wirebench.model.address import parse_address
from wirebench.model.variables import expand
from wirebench.plan.grpc_schema import GOOGLE_PROTO, INFRASTRUCTURE, sort_files
from wirebench.system.tls import ClientTls, choose_tls, split_scheme

_ANSWER_TIMEOUT_S = 10.0


def reflect(
    address: str,
    tls: ClientTls | None = None,
    calls: Iterable[str] = (),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return the FileDescriptorSet of these calls (`package.Service/Method`), or of all services, by server reflection.

    `headers` are sent as metadata, with the values of environment variables. Raises WirebenchError.
    """
    scheme, bare = split_scheme(address)
    metadata = tuple(_encode_metadata(headers))
    names = dict.fromkeys(call.partition("/")[0] for call in calls)
    with GrpcClient(parse_address(bare), tls=choose_tls(scheme, tls)) as client:
        for version in ("v1", "v1alpha"):
            reflection = _Reflection(client.channel, version, metadata)
            try:
                return reflection.read(list(names))
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                    failure = f"{error.code().name}: {error.details()}"
                    hint = "see the service's log, or give proto files: `schema: shop.proto`"
                    raise WirebenchError(f"{address}: server reflection failed: {failure}", hint) from None
    raise WirebenchError(f"{address} serves no reflection", "give proto files instead: `schema: shop.proto`")


def _encode_metadata(headers: Mapping[str, str]) -> Iterator[tuple[str, str | bytes]]:
    """Yield headers as grpc takes them: keys in lower case, and bytes for those that end in -bin."""
    for name, text in headers.items():
        key, value = name.lower(), expand(text)
        try:
            yield key, base64.b64decode(f"{value}==") if key.endswith("-bin") else value
        except binascii.Error:
            raise UsageError(f"{name}: its value isn't base64", "correct the environment variable") from None


class _Reflection:
    """Server reflection of one version; all versions have the messages of v1alpha."""

    def __init__(self, channel: grpc.Channel, version: str, metadata: tuple[tuple[str, str | bytes], ...]) -> None:
        # Imported late: few runs ask by reflection.
        from grpc_reflection.v1alpha import reflection_pb2

        self._messages = reflection_pb2
        self._metadata = metadata
        self._call = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )

    def read(self, services: list[str]) -> bytes:
        """Return the files of services, and all that they import. Raises grpc.RpcError, WirebenchError."""
        known: dict[str, FileDescriptorProto] = {}
        listed = [each.name for each in self._ask(list_services="").list_services_response.service]
        for name in services or (each for each in listed if not INFRASTRUCTURE.match(each)):
            if name not in listed:
                raise WirebenchError(f"the server has no service {name}", suggest(name, listed))
            self._take(self._ask(file_containing_symbol=name), known)
        while missing := {name for file in known.values() for name in file.dependency} - known.keys():
            for name in missing:
                self._take_import(name, known)
        return FileDescriptorSet(file=sort_files(known.values())).SerializeToString()

    def _ask(self, **question: str) -> Any:  # noqa: ANN401 - a message of reflection_pb2
        request = self._messages.ServerReflectionRequest(**cast("Any", question))
        return next(self._call(iter([request]), timeout=_ANSWER_TIMEOUT_S, metadata=self._metadata))

    def _take(self, answer: Any, known: dict[str, FileDescriptorProto]) -> None:  # noqa: ANN401 - as above
        for serialized in answer.file_descriptor_response.file_descriptor_proto:
            file = FileDescriptorProto.FromString(serialized)
            known[file.name] = file

    def _take_import(self, name: str, known: dict[str, FileDescriptorProto]) -> None:
        """Take a file that others import; some servers don't have Google's own, which are known here."""
        self._take(self._ask(file_by_filename=name), known)
        if name not in known:
            if not GOOGLE_PROTO.fullmatch(name):
                hint = "give proto files instead: `schema: shop.proto`"
                raise WirebenchError(f"server reflection doesn't have the import {name}", hint)
            module = importlib.import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
            known[name] = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
