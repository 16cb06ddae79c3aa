"""The ledger: account balances, and a day of transactions as a stream. It is only read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from wirebench_services.application.users import Fields, check_names, parse_integer

#: A Store or an AsyncStore, which import this module.
Store: TypeAlias = Any
RATE_LIMIT_MAX = 1_000_000
STREAM_ITEMS_MAX = 100_000
#: Transactions that a stream fetches at a time: so many wait in memory for a client that doesn't read.
PAGE_ITEMS = 128
#: The shortest sleep: transactions that become due within it are sent together.
_SLEEP_S_MIN = 0.001


class Balance(NamedTuple):
    """An account's balance, and the number of transactions it took part in."""

    account_id: int
    owner: str
    currency: str
    balance_cents: int
    transactions: int


class Transaction(NamedTuple):
    """One movement of money; `time` in Unix seconds."""

    id: int
    time: int
    from_account_id: int
    to_account_id: int
    amount_cents: int
    currency: str
    reference: str
    description: str


class StreamQuery(NamedTuple):
    """The transactions that a client asked for; without a rate limit they are sent as fast as the client reads."""

    since_s: int
    rate_limit_per_s: int | None
    limit: int


def parse_account_id(fields: Fields) -> int:
    check_names(fields, "account_id")
    return parse_integer(fields, "account_id")


def parse_stream(fields: Fields) -> StreamQuery:
    """Return the query of StreamTransactions. Raises InvalidArgument."""
    check_names(fields, "since", "rate_limit", "limit")
    return StreamQuery(
        parse_integer(fields, "since", 0),
        None if fields.get("rate_limit") is None else parse_integer(fields, "rate_limit", most=RATE_LIMIT_MAX),
        parse_integer(fields, "limit", most=STREAM_ITEMS_MAX, default=STREAM_ITEMS_MAX),
    )


def stream_transactions(store: Store, query: StreamQuery) -> Iterator[Sequence[Transaction]]:
    """Yield the transactions in batches, each as soon as it is due. Raises OperationError."""
    pace, since_s, after_id, left = _Pace(query.rate_limit_per_s), query.since_s, 0, query.limit
    while left and (page := store.list_transactions(since_s, after_id, min(left, PAGE_ITEMS))):
        since_s, after_id, left = page[-1].time, page[-1].id, left - len(page)
        for wait_s, due in pace.split(page):
            time.sleep(wait_s)
            yield due


async def stream_transactions_async(store: Store, query: StreamQuery) -> AsyncIterator[Sequence[Transaction]]:
    """Yield the transactions in batches, each as soon as it is due. Raises OperationError."""
    pace, since_s, after_id, left = _Pace(query.rate_limit_per_s), query.since_s, 0, query.limit
    while left:
        page = store.list_transactions(since_s, after_id, min(left, PAGE_ITEMS))
        if isinstance(page, Awaitable):
            # A client that leaves cancels its stream. Unshielded, that could cancel a query and lose its connection.
            page = await asyncio.shield(page)
        if not page:
            return
        since_s, after_id, left = page[-1].time, page[-1].id, left - len(page)
        for wait_s, due in pace.split(page):
            await asyncio.sleep(wait_s)  # with 0, other connections have a turn
            yield due


class _Pace:
    """When transactions are due: the first at once, then so many a second."""

    def __init__(self, rate_per_s: int | None) -> None:
        self._interval_s = 1 / rate_per_s if rate_per_s else 0.0
        self._due_s = time.monotonic()

    def split(self, page: Sequence[Transaction]) -> Iterator[tuple[float, Sequence[Transaction]]]:
        """Yield batches of the page, each with how long to sleep until it is due."""
        while page:
            now_s = time.monotonic()
            # After a pause in reading, a client doesn't get more than its rate limit.
            self._due_s = max(self._due_s, now_s - 0.1)
            wait_s = max(_SLEEP_S_MIN, self._due_s - now_s) if self._due_s > now_s else 0.0
            count = int((now_s + wait_s - self._due_s) / self._interval_s) + 1 if self._interval_s else len(page)
            self._due_s += min(count, len(page)) * self._interval_s
            yield wait_s, page[:count]
            page = page[count:]
