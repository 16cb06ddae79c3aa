"""A store that blocks, for event loops: its calls are made in threads, and awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from services.domain.ledger import Balance, Transaction
from services.domain.stores.store import Store
from services.domain.users import Fields, User


class ThreadedStore:
    """Asks another store, at most so many times at once."""

    asynchronous = True

    def __init__(self, store: Store, threads: int) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")

    def get(self, user_id: int) -> Awaitable[User]:
        """Return the user. Raises NotFound."""
        return self._ask(self._store.get, user_id)

    def add(self, user: User) -> Awaitable[User]:
        """Add the user and return it. Raises AlreadyExists."""
        return self._ask(self._store.add, user)

    def add_all(self, users: Sequence[User]) -> Awaitable[Sequence[User]]:
        """Add all users and return them, or add none. Raises AlreadyExists, with the taken ids."""
        return self._ask(self._store.add_all, users)

    def change(self, user_id: int, changes: Fields) -> Awaitable[User]:
        """Replace the given fields of a user and return it. Raises NotFound."""
        return self._ask(self._store.change, user_id, changes)

    def remove(self, user_id: int) -> Awaitable[User]:
        """Remove the user and return it as it was. Raises NotFound."""
        return self._ask(self._store.remove, user_id)

    def page(self, after_id: int, limit: int) -> Awaitable[Sequence[User]]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        return self._ask(self._store.page, after_id, limit)

    def balance(self, account_id: int) -> Awaitable[Balance]:
        """Return what an account holds. Raises NotFound."""
        return self._ask(self._store.balance, account_id)

    def transactions(self, since_s: int, after_id: int, limit: int) -> Awaitable[Sequence[Transaction]]:
        """Return the first `limit` transactions of the Unix second or later with ids over `after_id`."""
        return self._ask(self._store.transactions, since_s, after_id, limit)

    def close(self) -> None:
        """Wait for calls that have begun, and close the store."""
        self._pool.shutdown()
        self._store.close()

    def _ask(self, call: Callable[..., Any], *arguments: object) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._pool, call, *arguments)
