"""Where users and the ledger are kept: one module a store, chosen by `StoreSettings`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from services.domain import seed
from services.domain.stores.memory import MemoryStore
from services.domain.stores.settings import StoreSettings
from services.domain.stores.sqlite import SqliteStore
from services.domain.stores.store import Store
from services.domain.stores.threaded import ThreadedStore

# psycopg is imported where it is used: a process loads only what it runs.


def prepare(settings: StoreSettings, temporary: Path) -> None:
    """Make the store ready for its first worker; call once, before workers start. PostgreSQL has to be ready."""
    if settings.kind == "sqlite":
        SqliteStore.prepare(_path(settings, temporary), seed.users())
    elif settings.kind == "postgres":
        from services.domain.stores import postgres_schema  # noqa: PLC0415

        postgres_schema.check(settings)


def open_store(settings: StoreSettings, temporary: Path, threads: int | None) -> Store:
    """Open the store in a worker, for an event loop if it gets so many threads for a store that blocks.

    `temporary` is a folder that lives as long as the service.
    """
    if settings.kind == "memory":
        return MemoryStore(seed.users())
    if settings.kind == "postgres":
        from services.domain.stores.postgres import AsyncPostgresStore, PostgresStore  # noqa: PLC0415

        return PostgresStore(settings) if threads is None else AsyncPostgresStore(settings)
    store = SqliteStore(_path(settings, temporary))
    return store if threads is None else ThreadedStore(store, threads)


@contextlib.asynccontextmanager
async def held_open(store: Store) -> AsyncIterator[None]:
    """Hold open what the store needs a running loop for; an event loop asks it inside of this only."""
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(store, contextlib.AbstractAsyncContextManager):
            await stack.enter_async_context(store)
        yield


@contextlib.contextmanager
def watched(settings: StoreSettings) -> Iterator[Callable[[], bool]]:
    """Yield what tells whether the store is there, from any thread of a process that has forked its workers."""
    if settings.kind != "postgres":
        yield lambda: True
        return
    from services.domain.stores.postgres_watch import Watch  # noqa: PLC0415

    with contextlib.closing(Watch(settings)) as watch:
        yield watch.is_there


def _path(settings: StoreSettings, temporary: Path) -> Path:
    return settings.path or temporary / "users.sqlite"
