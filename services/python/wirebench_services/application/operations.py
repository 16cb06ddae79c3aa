"""What each operation does with a store and the fields of a request, by the operation's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from wirebench_services.application import ledger, users
from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.users import Fields


def _parse_content(fields: Fields, name: str, kind: type, description: str) -> Any:  # noqa: ANN401 - of that type
    users.check_names(fields, name)
    value = fields.get(name)
    if value in (None, kind()):
        raise InvalidArgument(f"Missing required fields: {name}.")
    if not isinstance(value, kind):
        raise InvalidArgument(f"Field '{name}' must be {description}.")
    return value


#: Each returns what the store's method returns: a value or, of an asynchronous store, an awaitable.
HANDLERS: dict[str, Callable[[Any, Fields], Any]] = {
    "users.create": lambda store, fields: store.add_user(users.parse_creation(fields)),
    "users.get": lambda store, fields: store.get_user(users.parse_id(fields)),
    "users.update": lambda store, fields: store.change_user(*users.parse_update(fields)),
    "users.delete": lambda store, fields: store.remove_user(users.parse_id(fields)),
    "users.list": lambda store, fields: store.list_users(*users.parse_page(fields)),
    "users.create_batch": lambda store, fields: store.add_users(users.parse_batch(fields)),
    "ledger.get_balance": lambda store, fields: store.get_balance(ledger.parse_account_id(fields)),
    "echo.echo": lambda _, fields: {"payload": _parse_content(fields, "payload", bytes, "bytes")},
    "echo.upper": lambda _, fields: {"text": _parse_content(fields, "text", str, "a string").upper()},
}


async def resolve(value: Any) -> Any:  # noqa: ANN401
    """Return the value, or what it is awaited for."""
    return await value if inspect.isawaitable(value) else value
