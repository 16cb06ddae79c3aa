"""A store for threads, called from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.stores.store import Store
from wirebench_services.application.users import User

T = TypeVar("T")


class BlockingAsyncStore:
    """Calls a store in a pool of `threads`, or directly in the loop if it never waits (None)."""

    def __init__(self, store: Store, threads: int | None) -> None:
        self._store = store
        self._pool = None if threads is None else ThreadPoolExecutor(threads, thread_name_prefix="store")

    async def get_user(self, user_id: int) -> User:
        return await self._call(self._store.get_user, user_id)

    async def add_user(self, user: User) -> User:
        return await self._call(self._store.add_user, user)

    async def add_users(self, users: list[User]) -> list[User]:
        return await self._call(self._store.add_users, users)

    async def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User:
        return await self._call(self._store.change_user, user_id, changes)

    async def remove_user(self, user_id: int) -> User:
        return await self._call(self._store.remove_user, user_id)

    async def list_users(self, after_id: int, limit: int) -> list[User]:
        return await self._call(self._store.list_users, after_id, limit)

    async def get_balance(self, account_id: int) -> Balance:
        return await self._call(self._store.get_balance, account_id)

    async def list_transactions(self, since_s: int, after_id: int, limit: int) -> Sequence[Transaction]:
        return await self._call(self._store.list_transactions, since_s, after_id, limit)

    async def close(self) -> None:
        """Wait for the calls that have begun, and close the store."""
        if self._pool:
            self._pool.shutdown()
        self._store.close()

    async def _call(self, method: Callable[..., T], *arguments: object) -> T:
        if self._pool is None:
            return method(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._pool, method, *arguments)
