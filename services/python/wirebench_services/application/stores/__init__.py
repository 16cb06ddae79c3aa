"""Where users and the ledger are kept. `open_store` serves threads, `open_async_store` an event loop."""

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TypeAlias

from wirebench_services.application import seed
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.settings import Settings

if TYPE_CHECKING:  # SQLAlchemy is imported where it is used: a process loads only what it runs
    from wirebench_services.application.stores.sql import AsyncSqlStore, SqlStore

#: MemoryStore says what the methods do.
Store: TypeAlias = "MemoryStore | SqlStore"
#: The same methods: those of AsyncSqlStore are awaited, and those of MemoryStore never wait.
AsyncStore: TypeAlias = "MemoryStore | AsyncSqlStore"


def open_store(settings: Settings) -> Store:
    """Open the store for a server that uses threads."""
    if settings.store == "memory":
        return MemoryStore(seed.users(settings.seed_users))
    from wirebench_services.application.stores.sql import SqlStore  # noqa: PLC0415

    return SqlStore(settings)


@contextlib.asynccontextmanager
async def open_async_store(settings: Settings) -> AsyncIterator[AsyncStore]:
    """Open the store for a server that runs an event loop, and close it."""
    if settings.store == "memory":
        yield MemoryStore(seed.users(settings.seed_users))
        return
    from wirebench_services.application.stores.sql import AsyncSqlStore  # noqa: PLC0415

    async with contextlib.aclosing(AsyncSqlStore(settings)) as store:
        yield store
