"""A store for threads, called from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wirebench_services.application.stores.store import Store


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
