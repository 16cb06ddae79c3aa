"""The ledger: what accounts hold, and what moved between them; it is read and never written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from services.domain.answers import Answer
from services.domain.numbers import INT32_MAX, parse_int

RATE_LIMIT_MAX = 1_000_000
STREAM_ITEMS_MAX = 100_000
#: How many transactions a stream fetches at a time: so many wait in memory for a client that doesn't read.
PAGE_ITEMS = 128


class Balance(NamedTuple):
    """What an account holds, and how many transactions it took part in."""

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


class LedgerStore(Protocol):
    """Where the ledger is kept. Safe from any thread; answers are to be awaited as `asynchronous` of the store says."""

    def balance(self, account_id: int) -> Answer[Balance]:
        """Return what an account holds. Raises NotFound."""

    def transactions(self, since_s: int, after_id: int, limit: int) -> Answer[Sequence[Transaction]]:
        """Return the first `limit` transactions of the Unix second or later with ids over `after_id`.

        They come in the order of their ids, which is that of time.
        """


class TransactionFeed:
    """The transactions that one client asked for, a page at a time."""

    def __init__(self, store: LedgerStore, since_s: int, rate_limit_per_s: int | None, limit: int) -> None:
        self.rate_limit_per_s = rate_limit_per_s
        self._store = store
        self._since_s = since_s
        self._after_id = 0
        self._left = limit

    @property
    def at_end(self) -> bool:
        """Whether there is nothing more to ask for."""
        return not self._left

    def ask(self) -> Answer[Sequence[Transaction]]:
        """Ask the store for the next page."""
        return self._store.transactions(self._since_s, self._after_id, min(PAGE_ITEMS, self._left))

    def accept(self, page: Sequence[Transaction]) -> None:
        """Note what the store answered; after an empty page there is nothing more."""
        self._left -= len(page)
        if page:
            self._after_id = page[-1].id
        else:
            self._left = 0


class Ledger:
    """The operations on the ledger; each validates first, so that every transport answers alike."""

    def __init__(self, store: LedgerStore) -> None:
        self._store = store

    def get_balance(self, account_id: object) -> Answer[Balance]:
        """Return what an account holds. Raises InvalidArgument, NotFound."""
        return self._store.balance(parse_int("account_id", account_id, 1, INT32_MAX))

    def stream_transactions(self, since_s: object, rate_limit_per_s: object, limit: object) -> TransactionFeed:
        """Begin to read transactions; None is all of them, as fast as they are read. Raises InvalidArgument."""
        return TransactionFeed(
            self._store,
            0 if since_s is None else parse_int("since", since_s, 0, INT32_MAX),
            None if rate_limit_per_s is None else parse_int("rate_limit", rate_limit_per_s, 1, RATE_LIMIT_MAX),
            STREAM_ITEMS_MAX if limit is None else parse_int("limit", limit, 1, STREAM_ITEMS_MAX),
        )
