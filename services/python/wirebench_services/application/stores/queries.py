"""What SQL stores do: each function is the store's method of that name on a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam

from wirebench_services.application.errors import AlreadyExists, NotFound
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.stores.tables import balances, transactions, users
from wirebench_services.application.users import INT32_MAX, User

# Statements with parameters are compiled once.
_SELECT_USER = sa.select(users).where(users.c.id == bindparam("user_id"))
_SELECT_USERS = (
    sa.select(users).where(users.c.id > bindparam("after_id")).order_by(users.c.id).limit(bindparam("limit"))
)
_UPDATE_USER = sa.update(users).where(users.c.id == bindparam("user_id")).returning(users)
_DELETE_USER = sa.delete(users).where(users.c.id == bindparam("user_id")).returning(users)
_SELECT_BALANCE = sa.select(balances).where(balances.c.account_id == bindparam("account_id"))
_PLACE = sa.tuple_(transactions.c.time, transactions.c.id)
_SELECT_TRANSACTIONS = (
    sa.select(transactions)
    .where(sa.tuple_(bindparam("since_s"), bindparam("after_id")) < _PLACE)
    .order_by(transactions.c.time, transactions.c.id)
    .limit(bindparam("limit"))
)


def get_user(connection: sa.Connection, user_id: int) -> User:
    return _to_user(connection.execute(_SELECT_USER, {"user_id": user_id}).one_or_none())


def add_user(connection: sa.Connection, user: User) -> User:
    return add_users(connection, [user])[0]


def add_users(connection: sa.Connection, added: list[User]) -> list[User]:
    if len(added) > 1:  # all or none: by default, each statement is a transaction
        connection.execution_options(isolation_level=connection.default_isolation_level)
    try:
        with connection.begin():
            # In the order of ids, so that two batches with common ids can't deadlock.
            connection.execute(users.insert(), [user._asdict() for user in sorted(added, key=lambda user: user.id)])
    except sa.exc.IntegrityError:
        taken = sa.select(users.c.id).where(users.c.id.in_([user.id for user in added]))
        raise AlreadyExists.users(connection.scalars(taken)) from None
    return added


def change_user(connection: sa.Connection, user_id: int, changes: Mapping[str, Any]) -> User:
    return _to_user(connection.execute(_UPDATE_USER.values(changes), {"user_id": user_id}).one_or_none())


def remove_user(connection: sa.Connection, user_id: int) -> User:
    return _to_user(connection.execute(_DELETE_USER, {"user_id": user_id}).one_or_none())


def list_users(connection: sa.Connection, after_id: int, limit: int) -> list[User]:
    rows = connection.execute(_SELECT_USERS, {"after_id": after_id, "limit": limit or INT32_MAX})
    return list(map(_to_user, rows))


def get_balance(connection: sa.Connection, account_id: int) -> Balance:
    row = connection.execute(_SELECT_BALANCE, {"account_id": account_id}).one_or_none()
    if row is None:
        raise NotFound("Account not found.")
    return Balance._make(row)


def list_transactions(connection: sa.Connection, since_s: int, after_id: int, limit: int) -> list[Transaction]:
    values = {"since_s": since_s, "after_id": after_id, "limit": limit}
    return list(map(Transaction._make, connection.execute(_SELECT_TRANSACTIONS, values)))


def _to_user(row: sa.Row[Any] | None) -> User:
    if row is None:
        raise NotFound("User not found.")
    user = User._make(row)
    return user._replace(tags=tuple(user.tags))
