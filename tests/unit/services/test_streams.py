"""Streams with no transport in sight: what is due and when, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from services.domain.answers import Answer
from services.domain.errors import Code, Unavailable
from services.operations import STREAMS, Outcome, Stream

OPERATION = STREAMS["ledger.stream_transactions"]


class Numbers:
    """A feed of numbers as text, three a page."""

    def __init__(self, count: int, rate_limit_per_s: int | None = None, error: Exception | None = None) -> None:
        self.rate_limit_per_s = rate_limit_per_s
        self._left = list(map(str, range(count)))
        self._error = error

    @property
    def at_end(self) -> bool:
        """Whether all were given."""
        return not self._left

    def ask(self) -> Answer[Sequence[Any]]:
        """Return the next page."""
        if self._error:
            raise self._error
        return self._left[:3]

    def accept(self, page: Sequence[Any]) -> None:
        """Note that a page was given."""
        self._left = self._left[len(page) :]


def stream_of(feed: Numbers) -> Stream:
    """Return a stream that begins at time 0."""
    return Stream(OPERATION, feed, lambda item: str(item).encode(), 0.0)


def taken(stream: Stream, now_s: float) -> list[bytes]:
    """Load if that is due, and take what is."""
    if stream.is_hungry:
        stream.load()
    return stream.take(now_s)


def test_without_a_limit_all_is_due_at_once() -> None:
    """A page at a time, until there are no more."""
    stream = stream_of(Numbers(4))
    assert [b"0", b"1", b"2"] == taken(stream, 0.0)
    assert 0.0 == stream.wait_s(0.0)
    assert [b"3"] == taken(stream, 0.0)
    before = stream.outcome
    assert [] == taken(stream, 0.0)
    assert (None, Outcome(Code.OK, "")) == (before, stream.outcome)
    assert 4 == stream.sent_bytes


def test_a_limited_rate() -> None:
    """The first item is due at once, and each next one an interval later."""
    stream = stream_of(Numbers(9, rate_limit_per_s=10))
    assert [b"0"] == taken(stream, 0.0)
    assert pytest.approx(0.1) == stream.wait_s(0.0)
    assert [] == taken(stream, 0.05)
    assert [b"1"] == taken(stream, 0.1001)
    assert [b"2"] == taken(stream, 0.2001)


def test_who_has_not_read_for_long_does_not_get_it_all_at_once() -> None:
    """The limit is one of every second: what was due meanwhile comes later."""
    stream = stream_of(Numbers(1000, rate_limit_per_s=100))
    stream.load()
    burst = sum(len(taken(stream, 5.0)) for _ in range(50))
    assert 10 <= burst <= 12


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Unavailable("The store is unavailable."), Outcome(Code.UNAVAILABLE, "The store is unavailable.")),
        (RuntimeError("a secret"), Outcome(Code.INTERNAL, "Internal error.")),
    ],
)
def test_a_store_that_fails(error: Exception, expected: Outcome) -> None:
    """The stream ends with the contract's words, and no others, in a thread as in a loop."""
    blocking, awaited = stream_of(Numbers(1, error=error)), stream_of(Numbers(1, error=error))
    blocking.load()
    asyncio.run(awaited.load_async())
    assert expected == blocking.outcome
    assert expected == awaited.outcome


def test_the_first_end_counts() -> None:
    """A stream that has ended ends no second time."""
    stream = stream_of(Numbers(1))
    stream.stop()
    stream.cancel()
    assert Outcome(Code.UNAVAILABLE, "The service is stopping.") == stream.outcome
