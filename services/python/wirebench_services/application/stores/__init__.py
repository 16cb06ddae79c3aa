"""Where users and the ledger are kept. `open_store` serves threads, `open_async_store` an event loop."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from wirebench_services.application import seed
from wirebench_services.application.stores.asynchronous import AsyncAdapter
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.application.stores.sqlite import SqliteStore
from wirebench_services.application.stores.store import AsyncStore, Store
from wirebench_services.settings import Settings

# psycopg is imported where it is used: a process loads only what it runs.

__all__ = ["AsyncStore", "Store", "open_async_store", "open_store"]


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
