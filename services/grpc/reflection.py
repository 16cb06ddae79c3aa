"""Server reflection, for clients that have no proto files."""

from __future__ import annotations

from typing import Any, cast

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2

#: What newer clients ask for first. Its messages are those of v1alpha under another name; grpcio has that one only.
V1_SERVICE_NAME = "grpc.reflection.v1.ServerReflection"


def add_to(server: Any, service_names: tuple[str, ...]) -> None:  # noqa: ANN401 - grpc.Server or grpc.aio.Server
    """Register reflection, in both of its versions; it lists the services and itself."""
    names, pool = (*service_names, reflection.SERVICE_NAME, V1_SERVICE_NAME), cast("Any", _Pool())
    reflection.enable_server_reflection(names, server, pool)
    is_aio = isinstance(server, grpc.aio.Server)
    servicer: Any = (reflection.aio.ReflectionServicer if is_aio else reflection.ReflectionServicer)(names, pool=pool)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_registered_method_handlers(V1_SERVICE_NAME, {"ServerReflectionInfo": handler})


class _Pool:
    """The default pool, but one that knows methods too.

    Reflection may ask for the file of `package.Service.Method`, as ghz does; protobuf's own pool finds
    methods by another call only.
    """

    def __init__(self) -> None:
        self._pool = descriptor_pool.Default()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._pool, name)

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:
        """Return the file that declares the symbol; raise KeyError."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file
