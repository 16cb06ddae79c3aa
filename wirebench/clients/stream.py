"""The items of a stream, whatever it comes over."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Self

from wirebench.clients.client import Reply


class ItemStream(Iterator[object]):
    """Asks for a stream at the first item, and yields items as they come: the `data` of each.

    When there are no more, `reply` says how the stream ended. To close it before its end cancels it.
    Iterating raises ClientError.
    """

    def __init__(self, items: Generator[object, None, Reply]) -> None:
        self.reply: Reply | None = None
        self._items = items

    def __next__(self) -> object:
        """Wait for the next item."""
        try:
            return next(self._items)
        except StopIteration as end:
            self.reply = self.reply or end.value
            raise

    def close(self) -> None:
        """Cancel the stream, unless it has ended."""
        self._items.close()

    def __enter__(self) -> Self:
        """Return the stream."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the stream."""
        self.close()
