"""Operations whose reply is a stream of items: what is due, and when, with no transport in sight.

A runtime takes what is due, hands it to its client, and takes no more before the client can have it: so a client that
reads slowly slows its stream down, and no more waits for it in memory than one page of items.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from services.domain.answers import Answer
from services.domain.application import Application
from services.domain.errors import Code
from services.operations.codec import Codec
from services.operations.operation import Operation, Outcome, failure_of, fields_of

#: How long nobody looks whether the service stops, or whether the client has gone.
LOOK_INTERVAL_S = 0.25
#: Timers are no finer than that: what is due in between goes out together.
_TICK_S = 0.001
#: A client that has not read for a while is not sent all that was due meanwhile, which would be over its limit: at most
#: what is due in so long a time. It loses nothing, but gets it later.
_CATCH_UP_S = 0.1

#: That there is no more needs no words, and not all transports have room for them.
_DONE = Outcome(Code.OK, "")
_CANCELLED = Outcome(Code.CANCELLED, "The stream was cancelled.")
_STOPPED = Outcome(Code.UNAVAILABLE, "The service is stopping.")


class Feed(Protocol):
    """Where the items of one stream come from, a page at a time."""

    #: None is as fast as they are read.
    rate_limit_per_s: int | None

    @property
    def at_end(self) -> bool:
        """Whether there is nothing more to ask for."""

    def ask(self) -> Answer[Sequence[Any]]:
        """Ask the store for the next page."""

    def accept(self, page: Sequence[Any]) -> None:
        """Note what the store answered."""


class Recorder(Protocol):
    """Where a stream that has ended is counted."""

    def finished(self, operation: str, code: str, duration_s: float, request_bytes: int, response_bytes: int) -> None:
        """Count a request by how it ended."""


class Stream:
    """An open stream. Times are in seconds of one monotonic clock, which the caller reads."""

    def __init__(self, operation: Operation, feed: Feed, encode: Callable[[Any], bytes], now_s: float) -> None:
        self.operation = operation
        #: How the stream ended; None as long as it goes on.
        self.outcome: Outcome | None = None
        self.sent_bytes = 0
        #: For runtimes that load elsewhere: whether a page is on its way.
        self.is_loading = False
        self._feed = feed
        self._encode = encode
        self._page: Sequence[Any] = ()
        self._taken = 0
        self._pace = _Pace(feed.rate_limit_per_s, now_s)

    @property
    def is_hungry(self) -> bool:
        """Whether a page has to be loaded before anything can be taken."""
        return self._taken == len(self._page)

    def load(self) -> None:
        """Fetch the next page, or end the stream where there is none; over a store that isn't asynchronous."""
        try:
            page: Any = () if self._feed.at_end else self._feed.ask()
            self._accept(page)
        except Exception as error:  # noqa: BLE001 - logged where it is none of the contract's
            self._end_as(failure_of(self.operation, error))

    async def load_async(self) -> None:
        """Do the same over any store, in a loop, which does other things while the store is asked."""
        try:
            page = () if self._feed.at_end else self._feed.ask()
            self._accept(await page if inspect.isawaitable(page) else page)
        except Exception as error:  # noqa: BLE001 - as above
            self._end_as(failure_of(self.operation, error))

    def take(self, now_s: float) -> list[bytes]:
        """Return the items that are due of the page that is loaded, encoded."""
        first = self._taken
        count = self._pace.take(now_s, len(self._page) - first)
        self._taken = first + count
        items = list(map(self._encode, self._page[first : self._taken]))
        self.sent_bytes += sum(map(len, items))
        return items

    def wait_s(self, now_s: float) -> float:
        """Return how long nothing will be due."""
        return 0.0 if self.is_hungry else self._pace.wait_s(now_s)

    def cancel(self) -> None:
        """End the stream, unless it has ended, because its client wants no more of it."""
        self._end_as(_CANCELLED)

    def stop(self) -> None:
        """End the stream, unless it has ended, because the service stops."""
        self._end_as(_STOPPED)

    def count(self, recorder: Recorder, begun_s: float, request_bytes: int) -> Outcome:
        """Count the stream as one request, and return how it ended; if it has not, its client has left."""
        self.cancel()
        outcome = self.outcome or _CANCELLED
        duration_s = time.perf_counter() - begun_s
        recorder.finished(self.operation.name, outcome.code, duration_s, request_bytes, self.sent_bytes)
        return outcome

    def _accept(self, page: Sequence[Any]) -> None:
        self._feed.accept(page)
        self._page, self._taken = page, 0
        if not page:
            self._end_as(_DONE)

    def _end_as(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome


class _Pace:
    """When items are due: the first at once, and so many a second."""

    def __init__(self, rate_per_s: int | None, now_s: float) -> None:
        self._interval_s = 1 / rate_per_s if rate_per_s else 0.0
        self._due_s = now_s

    def take(self, now_s: float, most: int) -> int:
        """Return how many items are due, at most so many, and count them as taken."""
        if not self._interval_s:
            return most
        self._due_s = max(self._due_s, now_s - _CATCH_UP_S)
        count = min(most, int((now_s - self._due_s) / self._interval_s) + 1) if now_s >= self._due_s else 0
        self._due_s += count * self._interval_s
        return count

    def wait_s(self, now_s: float) -> float:
        """Return how long no item will be due."""
        if now_s >= self._due_s:
            return 0.0
        return max(_TICK_S, self._due_s - now_s)


def open_stream(
    application: Application,
    operation: Operation,
    codec: Codec,
    body: bytes,
    path_fields: Mapping[str, object] | None = None,
) -> Feed | Outcome:
    """Decode a request and return its feed, or the outcome of one that is refused; as `run`, it never raises."""
    try:
        feed: Feed = operation.call(application, fields_of(operation, codec, body, path_fields))
    except Exception as error:  # noqa: BLE001 - as above
        return failure_of(operation, error)
    return feed


def batches(stream: Stream, stopping: threading.Event, client_leaves: Callable[[float], bool]) -> Iterator[list[bytes]]:
    """Yield what is due of a stream until it ends, from a thread that is the stream's own.

    `client_leaves` waits so many seconds, or less if the client leaves meanwhile, and returns whether it has.
    """
    while not _is_over(stream, stopping):
        if stream.is_hungry:
            stream.load()
            continue
        now_s = time.monotonic()
        items = stream.take(now_s)
        if items:
            yield items
        if client_leaves(min(stream.wait_s(time.monotonic()), LOOK_INTERVAL_S)):
            stream.cancel()


async def batches_in_loop(
    stream: Stream,
    stopping: threading.Event,
    client_leaves: Callable[[float], Awaitable[bool]],
) -> AsyncIterator[list[bytes]]:
    """Do the same in an event loop."""
    while not _is_over(stream, stopping):
        if stream.is_hungry:
            await stream.load_async()
            continue
        items = stream.take(time.monotonic())
        if items:
            yield items
        if await client_leaves(min(stream.wait_s(time.monotonic()), LOOK_INTERVAL_S)):
            stream.cancel()


def _is_over(stream: Stream, stopping: threading.Event) -> bool:
    if stopping.is_set():
        stream.stop()
    return stream.outcome is not None
