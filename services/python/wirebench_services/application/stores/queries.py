"""What SQL stores do: each function is the store's method of that name on a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from wirebench_services.application.errors import OperationError, make_users_exist
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import FIELDS, INT32_MAX, User

_INSERT_USER = "INSERT INTO users VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_UPDATE_USER = """
UPDATE users SET name = coalesce(%(name)s, name), email = coalesce(%(email)s, email),
  phone = coalesce(%(phone)s, phone), address = coalesce(%(address)s, address), bio = coalesce(%(bio)s, bio),
  tags = coalesce(%(tags)s, tags), avatar = coalesce(%(avatar)s, avatar)
WHERE id = %(id)s RETURNING *"""
_SELECT_TRANSACTIONS = "SELECT * FROM transactions WHERE (time, id) > (%s, %s) ORDER BY time, id LIMIT %s"


def get_user(connection: sa.Connection, user_id: int) -> User:
    return _to_user(connection.exec_driver_sql("SELECT * FROM users WHERE id = %s", (user_id,)).one_or_none())


def add_user(connection: sa.Connection, user: User) -> User:
    return add_users(connection, [user])[0]


def add_users(connection: sa.Connection, added: list[User]) -> list[User]:
    if len(added) > 1:  # all or none: by default, each statement is a transaction
        connection.execution_options(isolation_level=connection.default_isolation_level)
    # In the order of ids, so that two batches with common ids can't deadlock.
    rows = [tuple(user._replace(tags=list(user.tags))) for user in sorted(added)]  # type: ignore[arg-type] # an array
    try:
        with connection.begin():
            connection.exec_driver_sql(_INSERT_USER, rows)
    except sa.exc.IntegrityError:
        taken = connection.exec_driver_sql("SELECT id FROM users WHERE id = ANY(%s)", ([user.id for user in added],))
        raise make_users_exist(taken.scalars()) from None
    return added


def change_user(connection: sa.Connection, user_id: int, changes: Mapping[str, Any]) -> User:
    values = {**dict.fromkeys(FIELDS), **changes, "id": user_id}  # NULL keeps the old value
    if values["tags"]:
        values["tags"] = list(values["tags"])
    return _to_user(connection.exec_driver_sql(_UPDATE_USER, values).one_or_none())


def remove_user(connection: sa.Connection, user_id: int) -> User:
    return _to_user(connection.exec_driver_sql("DELETE FROM users WHERE id = %s RETURNING *", (user_id,)).one_or_none())


def list_users(connection: sa.Connection, after_id: int, limit: int) -> list[User]:
    statement = "SELECT * FROM users WHERE id > %s ORDER BY id LIMIT %s"
    return list(map(_to_user, connection.exec_driver_sql(statement, (after_id, limit or INT32_MAX))))


def get_balance(connection: sa.Connection, account_id: int) -> Balance:
    row = connection.exec_driver_sql("SELECT * FROM balances WHERE account_id = %s", (account_id,)).one_or_none()
    if row is None:
        raise OperationError("Account not found.", "not_found")
    return Balance._make(row)


def list_transactions(connection: sa.Connection, since_s: int, after_id: int, limit: int) -> list[Transaction]:
    rows = connection.exec_driver_sql(_SELECT_TRANSACTIONS, (since_s, after_id, limit))
    return list(map(Transaction._make, rows))


def _to_user(row: sa.Row[Any] | None) -> User:
    if row is None:
        raise OperationError("User not found.", "not_found")
    user = User._make(row)
    return user._replace(tags=tuple(user.tags))
