"""What an endpoint group is: a gRPC service, and the operation behind each of its methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from services.operations import OPERATIONS, STREAMS, Operation


@dataclass(frozen=True, slots=True)
class RpcService:
    """A service of the proto files, by its full name."""

    name: str
    #: Method name to the name of an operation.
    methods: Mapping[str, str]

    def operations(self) -> dict[str, Operation]:
        """Return the operations by method name."""
        known = OPERATIONS | STREAMS
        return {method: known[name] for method, name in self.methods.items()}
