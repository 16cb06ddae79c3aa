"""The ledger that every store starts with, as arithmetic on integers: the same in every language (proto/ledger.md)."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator

from services.domain.ledger import Balance, Transaction

ACCOUNTS = 10_000
TRANSACTIONS = 100_000
#: 2026-01-01T00:00:00Z, in Unix seconds, and how long the transactions go on.
FIRST_TIME_S = 1_767_225_600
DURATION_S = 86_400

_CURRENCY = "EUR"
_AMOUNT_CENTS_MAX = 100_000
_OPENING_CENTS_MIN = 5_000_000
_OPENING_CENTS_SPAN = 5_000_000
_PURPOSES = ("Salary", "Rent", "Groceries", "Insurance", "Electricity", "Refund", "Savings", "Donation")
_MASK = 2**32 - 1
_working_out = threading.Lock()


def _mix(number: int) -> int:
    """Return a number of 32 bits that looks random; the factors are the first two primes of xxHash32."""
    mixed = number * 2_654_435_761 & _MASK
    mixed = (mixed ^ mixed >> 15) * 2_246_822_519 & _MASK
    return mixed ^ mixed >> 13


def _movement(transaction_id: int) -> tuple[int, int, int]:
    """Return the accounts that money comes from and goes to, which always differ, and how much it is, in cents."""
    drawn = _mix(transaction_id)
    giver = drawn % ACCOUNTS
    taker = (giver + 1 + drawn // ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS
    return giver + 1, taker + 1, 1 + _mix(TRANSACTIONS + transaction_id) % _AMOUNT_CENTS_MAX


def transaction(transaction_id: int) -> Transaction:
    """Return a transaction by its id, 1 to `TRANSACTIONS`."""
    giver, taker, amount_cents = _movement(transaction_id)
    return Transaction(
        transaction_id,
        FIRST_TIME_S + (transaction_id - 1) * DURATION_S // TRANSACTIONS,
        giver,
        taker,
        amount_cents,
        _CURRENCY,
        f"WB-2026-{transaction_id:08}",
        f"{_PURPOSES[transaction_id % len(_PURPOSES)]}, from account {giver:05} to account {taker:05}",
    )


def first_id(since_s: int) -> int:
    """Return the id of the first transaction at a Unix second or later; one over `TRANSACTIONS` if there is none."""
    # The least id with (id - 1) * DURATION_S // TRANSACTIONS >= elapsed_s.
    elapsed_s = min(max(0, since_s - FIRST_TIME_S), DURATION_S)
    return 1 - (-elapsed_s * TRANSACTIONS // DURATION_S)


def transactions() -> Iterator[Transaction]:
    """Yield all transactions in the order of their ids, which is that of time."""
    return map(transaction, range(1, TRANSACTIONS + 1))


def balances() -> tuple[Balance, ...]:
    """Return what the accounts hold after all transactions, in the order of their ids; the first is account 1.

    It takes a tenth of a second, and is done when the first client asks: not every service is asked for balances.
    """
    # One thread works them out while the others wait: side by side, fifty of them would take seconds.
    with _working_out:
        return _balances()


@functools.cache
def _balances() -> tuple[Balance, ...]:
    cents = [_OPENING_CENTS_MIN + _mix(TRANSACTIONS * 2 + number) % _OPENING_CENTS_SPAN for number in range(ACCOUNTS)]
    counts = [0] * ACCOUNTS
    for giver, taker, amount_cents in map(_movement, range(1, TRANSACTIONS + 1)):
        cents[giver - 1] -= amount_cents
        cents[taker - 1] += amount_cents
        counts[giver - 1] += 1
        counts[taker - 1] += 1
    return tuple(
        Balance(number, f"Owner of account {number}", _CURRENCY, held, count)
        for number, held, count in zip(range(1, ACCOUNTS + 1), cents, counts, strict=True)
    )
