"""Where users and the ledger are kept: one module a store, chosen by name (`memory`, `sqlite`, `sqlite:PATH`)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from services.domain import seed
from services.domain.stores.memory import MemoryStore
from services.domain.stores.sqlite import SqliteStore
from services.domain.stores.store import Store
from services.domain.stores.threaded import ThreadedStore

NAMES = ("memory", "sqlite")


def validate(name: str) -> str:
    """Return the store's name if there is such a store; raise ValueError."""
    kind, _, path = name.partition(":")
    if kind not in NAMES or (path and kind != "sqlite"):
        message = f"no store {name!r}: memory, sqlite (a temporary file) or sqlite:PATH"
        raise ValueError(message)
    return name


def prepare(name: str, temporary: Path) -> None:
    """Make the store ready for its first worker; call once, before workers start."""
    if name != "memory":
        SqliteStore.prepare(_path(name, temporary), seed.users())


def open_store(name: str, temporary: Path, threads: int | None) -> Store:
    """Open the store in a worker, for an event loop if it gets so many threads for a store that blocks.

    `temporary` is a folder that lives as long as the service.
    """
    if name == "memory":
        return MemoryStore(seed.users())
    store = SqliteStore(_path(name, temporary))
    return store if threads is None else ThreadedStore(store, threads)


@contextlib.asynccontextmanager
async def held_open(store: Store) -> AsyncIterator[None]:
    """Hold open what the store needs a running loop for; an event loop asks it inside of this only."""
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(store, contextlib.AbstractAsyncContextManager):
            await stack.enter_async_context(store)
        yield


def _path(name: str, temporary: Path) -> Path:
    return Path(name.partition(":")[2] or temporary / "users.sqlite")
