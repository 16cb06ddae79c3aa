"""Server reflection, for clients that have no proto files."""

from __future__ import annotations

from typing import Any, cast

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection


def add_to(server: Any, service_names: tuple[str, ...]) -> None:  # noqa: ANN401 - grpc.Server or grpc.aio.Server
    """Register reflection; it lists the services and itself."""
    reflection.enable_server_reflection((*service_names, reflection.SERVICE_NAME), server, cast("Any", _Pool()))


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
