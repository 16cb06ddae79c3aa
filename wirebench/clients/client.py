"""What all clients share: a reply, a failure, and what a client is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from wirebench.errors import WirebenchError

if TYPE_CHECKING:
    from wirebench.clients.stream import ItemStream

#: A request's fields by their names in the proto file; bytes are bytes.
Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered, in the same words on every transport.

    `code` is the lower-case name of a status of the contract (`ok`, `not_found`, …). `data` is None on failure;
    otherwise the reply's `data` with only the fields that are set, bytes as bytes: a dict, or a list of users.
    """

    code: str
    message: str
    data: object = None

    @property
    def ok(self) -> bool:
        """Whether the operation was carried out."""
        return self.code == "ok"


class ClientError(WirebenchError):
    """No reply of the contract: nothing listens, something else listens, it is too slow, or it hung up."""


class Client(Protocol):
    """A connection to one service. Made for one thread; calls wait for their replies."""

    transport: str

    @abstractmethod
    def call(self, operation: str, fields: Fields) -> Reply:
        """Carry out an operation, such as `users.get` with `{"id": 7}`. Raises ClientError."""

    @abstractmethod
    def stream(self, operation: str, fields: Fields) -> ItemStream:
        """Return the items of an operation whose reply is a stream, such as `ledger.stream_transactions`.

        Until it has ended or is closed, there can be no other call. Raises ClientError.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection."""

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        self.close()
