"""Where users and the ledger are kept. `open_store` serves threads, `open_async_store` an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from wirebench_services.application import seed
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.application.stores.sqlite import SqliteStore
from wirebench_services.application.stores.store import AsyncStore, Store
from wirebench_services.settings import Settings

# psycopg is imported where it is used: a process loads only what it runs.

__all__ = ["AsyncAdapter", "AsyncStore", "Store", "open_async_store", "open_store"]


def open_store(settings: Settings) -> Store:
    """Open the store for a server that uses threads."""
    if settings.store == "postgres":
        from wirebench_services.application.stores.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(settings.store_url, settings.store_connections, settings.store_timeout_s)
    users = seed.users(settings.seed_users)
    if settings.store == "memory":
        return MemoryStore(users)
    return SqliteStore(Path(settings.store.removeprefix("sqlite:")), users)


async def open_async_store(settings: Settings) -> AsyncStore:
    """Open the store for a server that runs an event loop."""
    if settings.store == "postgres":
        from wirebench_services.application.stores.postgres import AsyncPostgresStore  # noqa: PLC0415

        store = AsyncPostgresStore(settings.store_url, settings.store_connections, settings.store_timeout_s)
        await store.open()
        return store
    threads = None if settings.store == "memory" else settings.threads
    return cast("AsyncStore", AsyncAdapter(open_store(settings), threads))


class AsyncAdapter:
    """Has the methods of a `Store`, to be awaited: called in a pool of threads, or in the loop if they never wait."""

    def __init__(self, store: Store, threads: int | None) -> None:
        """Take the store, and the number of threads; None calls the store in the loop."""
        self._store = store
        self._pool = None if threads is None else ThreadPoolExecutor(threads, thread_name_prefix="store")

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def call(*arguments: object) -> Any:  # noqa: ANN401 - what the method returns
            if self._pool is None:
                return method(*arguments)
            return await asyncio.get_running_loop().run_in_executor(self._pool, method, *arguments)

        self.__dict__[name] = call  # so that the next look-up finds it
        return call

    async def close(self) -> None:
        """Wait for the calls that have begun, and close the store."""
        if self._pool:
            self._pool.shutdown()
        self._store.close()
