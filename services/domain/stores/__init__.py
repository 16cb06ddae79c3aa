"""Where users and the ledger are kept: one module a store, chosen by name (`memory`, `sqlite`, `sqlite:PATH`)."""

from __future__ import annotations

from pathlib import Path

from services.domain import seed
from services.domain.stores.memory import MemoryStore
from services.domain.stores.sqlite import SqliteStore
from services.domain.stores.store import Store

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


def open_store(name: str, temporary: Path) -> Store:
    """Open the store in a worker; `temporary` is a folder that lives as long as the service."""
    if name == "memory":
        return MemoryStore(seed.users())
    return SqliteStore(_path(name, temporary))


def _path(name: str, temporary: Path) -> Path:
    return Path(name.partition(":")[2] or temporary / "users.sqlite")
