"""What all clients share: a reply, a failure, and what a client is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from wirebench.errors import WirebenchError

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
        return self.code == "ok"


class ClientError(WirebenchError):
    """No reply of the contract: nothing listens, something else listens, it is too slow, or it hung up."""


class ItemStream(Iterator[object]):
    """Asks for a stream at the first item, and yields items as they come: the `data` of each.

    When there are no more, `reply` says how the stream ended. To close it before its end cancels it.
    Iterating raises ClientError.
    """

    def __init__(self, items: Generator[object, None, Reply]) -> None:
        self.reply: Reply | None = None
        self._items = items

    def __next__(self) -> object:
        try:
            return next(self._items)
        except StopIteration as end:
            self.reply = self.reply or end.value
            raise

    def close(self) -> None:
        self._items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Client(ABC):
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
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
