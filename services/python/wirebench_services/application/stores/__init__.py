"""Where users and the ledger are kept. `open_store` serves threads, `open_async_store` an event loop."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from wirebench_services.application import seed
from wirebench_services.application.stores.asynchronous import BlockingAsyncStore
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.application.stores.sqlite import SqliteStore
from wirebench_services.application.stores.store import AsyncStore, Store

# psycopg is imported where it is used: a process loads only what it runs.

__all__ = ["AsyncStore", "Store", "StoreSettings", "open_async_store", "open_store"]


class StoreSettings(Protocol):
    """The settings that choose a store; `wirebench_services.settings` documents them."""

    @property
    def store(self) -> str:
        """The kind of store, for SQLite with its path."""

    @property
    def store_url(self) -> str:
        """The URL of a PostgreSQL database."""

    @property
    def store_connections(self) -> int:
        """The size of the pool of PostgreSQL connections."""

    @property
    def store_timeout_s(self) -> float:
        """How long a request may wait for a connection, and a statement may take."""

    @property
    def seed_users(self) -> int:
        """The number of users that the store starts with."""

    @property
    def threads(self) -> int:
        """The number of threads that may wait for a blocking store."""


def open_store(settings: StoreSettings) -> Store:
    """Open the store for a server that uses threads."""
    if settings.store == "postgres":
        from wirebench_services.application.stores.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(settings.store_url, settings.store_connections, settings.store_timeout_s)
    users = seed.users(settings.seed_users)
    if settings.store == "memory":
        return MemoryStore(users)
    return SqliteStore(Path(settings.store.removeprefix("sqlite:")), users)


async def open_async_store(settings: StoreSettings) -> AsyncStore:
    """Open the store for a server that runs an event loop."""
    if settings.store == "postgres":
        from wirebench_services.application.stores.postgres import AsyncPostgresStore  # noqa: PLC0415

        store = AsyncPostgresStore(settings.store_url, settings.store_connections, settings.store_timeout_s)
        await store.open()
        return store
    return BlockingAsyncStore(open_store(settings), None if settings.store == "memory" else settings.threads)
