"""Where users and the ledger are kept. `open_store` serves threads, `open_async_store` an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wirebench_services.application import seed
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.settings import Settings

if TYPE_CHECKING:  # SQLAlchemy is imported where it is used: a process loads only what it runs
    from wirebench_services.application.stores.sql import AsyncSqlStore, SqlStore

#: MemoryStore says what the methods do.
Store: TypeAlias = "MemoryStore | SqlStore"
#: Its methods never wait, or are to be awaited.
AsyncStore: TypeAlias = "MemoryStore | AsyncSqlStore"


def open_store(settings: Settings) -> Store:
    """Open the store for a server that uses threads."""
    if settings.store == "memory":
        return MemoryStore(seed.users(settings.seed_users))
    from wirebench_services.application.stores.sql import SqlStore  # noqa: PLC0415

    return SqlStore(settings)


def open_async_store(settings: Settings) -> AsyncStore:
    """Open the store for a server that runs an event loop."""
    if settings.store == "memory":
        return MemoryStore(seed.users(settings.seed_users))
    from wirebench_services.application.stores.sql import AsyncSqlStore  # noqa: PLC0415

    return AsyncSqlStore(settings)
