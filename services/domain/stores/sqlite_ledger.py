"""The ledger's tables in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from services.domain.errors import NotFound
from services.domain.ledger import Balance, Transaction

_SCHEMA = (
    """
    CREATE TABLE balances (
        account_id INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        currency TEXT NOT NULL,
        balance_cents INTEGER NOT NULL,
        transactions INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE transactions (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        from_account_id INTEGER NOT NULL,
        to_account_id INTEGER NOT NULL,
        amount_cents INTEGER NOT NULL,
        currency TEXT NOT NULL,
        reference TEXT NOT NULL,
        description TEXT NOT NULL
    )
    """,
    "CREATE INDEX transactions_time ON transactions (time)",
)
_INSERT_BALANCE = "INSERT INTO balances VALUES (?, ?, ?, ?, ?)"
_INSERT_TRANSACTION = "INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT_BALANCE = f"SELECT {', '.join(Balance._fields)} FROM balances WHERE account_id = ?"  # noqa: S608 - constants only
# The first id is one step in the index; transactions themselves are read in the order of the table. Where there is no
# first one, max() is NULL, and no id is greater.
_SELECT_TRANSACTIONS = f"""
    SELECT {", ".join(Transaction._fields)} FROM transactions
    WHERE id > max(?, (SELECT id FROM transactions WHERE time >= ? ORDER BY time, id LIMIT 1) - 1)
    ORDER BY id LIMIT ?
"""  # noqa: S608


def create(connection: sqlite3.Connection, balances: Iterable[Balance], transactions: Iterable[Transaction]) -> None:
    """Create and fill the tables, unless they are there; within a transaction of the caller's."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'transactions'").fetchone():
        return
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.executemany(_INSERT_BALANCE, balances)
    connection.executemany(_INSERT_TRANSACTION, transactions)


def balance(connection: sqlite3.Connection, account_id: int) -> Balance:
    """Return what an account holds. Raises NotFound."""
    row = connection.execute(_SELECT_BALANCE, (account_id,)).fetchone()
    if row is None:
        raise NotFound.account()
    return Balance._make(row)


def transactions(connection: sqlite3.Connection, since_s: int, after_id: int, limit: int) -> list[Transaction]:
    """Return the first `limit` transactions of the Unix second or later with ids over `after_id`."""
    return list(map(Transaction._make, connection.execute(_SELECT_TRANSACTIONS, (after_id, since_s, limit))))
