"""The data that every store starts with, computed: the same in every language (proto/ledger.md)."""

from collections.abc import Iterator

from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User

#: Seeded ids start here, so that people who try the API find the small ids free.
FIRST_SEEDED_ID = 1_000_001

ACCOUNTS = 10_000
TRANSACTIONS = 100_000
TRANSACTION_IDS = range(1, TRANSACTIONS + 1)
#: 2026-01-01T00:00:00Z, in Unix seconds, and how long the transactions last.
FIRST_TIME_S = 1_767_225_600
DURATION_S = 86_400

_CURRENCY = "EUR"
_AMOUNT_CENTS_MAX = 100_000
_OPENING_CENTS_MIN = 5_000_000
_OPENING_CENTS_SPAN = 5_000_000
_PURPOSES = ("Salary", "Rent", "Groceries", "Insurance", "Electricity", "Refund", "Savings", "Donation")
_MASK = 2**32 - 1


def users(count: int) -> Iterator[User]:
    for user_id in range(FIRST_SEEDED_ID, FIRST_SEEDED_ID + count):
        yield User(id=user_id, name=f"User {user_id}", email=f"user{user_id}@example.com")


def _mix(number: int) -> int:
    """Return a number of 32 bits that looks random; the factors are the first two primes of xxHash32."""
    mixed = number * 2_654_435_761 & _MASK
    mixed = (mixed ^ mixed >> 15) * 2_246_822_519 & _MASK
    return mixed ^ mixed >> 13


def _movement(transaction_id: int) -> tuple[int, int, int]:
    """Return the accounts that money comes from and goes to, which always differ, and how much it is, in cents."""
    drawn = _mix(transaction_id)
    payer = drawn % ACCOUNTS
    payee = (payer + 1 + drawn // ACCOUNTS % (ACCOUNTS - 1)) % ACCOUNTS
    return payer + 1, payee + 1, 1 + _mix(TRANSACTIONS + transaction_id) % _AMOUNT_CENTS_MAX


def time_and_id(transaction_id: int) -> tuple[int, int]:
    """Return what transactions are ordered by."""
    return FIRST_TIME_S + (transaction_id - 1) * DURATION_S // TRANSACTIONS, transaction_id


def transaction(transaction_id: int) -> Transaction:
    payer, payee, amount_cents = _movement(transaction_id)
    time_s, _ = time_and_id(transaction_id)
    reference = f"WB-2026-{transaction_id:08}"
    description = f"{_PURPOSES[transaction_id % len(_PURPOSES)]}, from account {payer:05} to account {payee:05}"
    return Transaction(transaction_id, time_s, payer, payee, amount_cents, _CURRENCY, reference, description)


def transactions() -> Iterator[Transaction]:
    return map(transaction, TRANSACTION_IDS)


def balances() -> list[Balance]:
    """Return the balances after all transactions, by account id, starting at 1: a tenth of a second of work."""
    cents = [_OPENING_CENTS_MIN + _mix(TRANSACTIONS * 2 + number) % _OPENING_CENTS_SPAN for number in range(ACCOUNTS)]
    counts = [0] * ACCOUNTS
    for payer, payee, amount_cents in map(_movement, TRANSACTION_IDS):
        cents[payer - 1] -= amount_cents
        cents[payee - 1] += amount_cents
        counts[payer - 1] += 1
        counts[payee - 1] += 1
    return [
        Balance(number, f"Owner of account {number}", _CURRENCY, held, count)
        for number, held, count in zip(range(1, ACCOUNTS + 1), cents, counts, strict=True)
    ]
