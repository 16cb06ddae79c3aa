"""Stores for tests, called alike whether they are for threads or for an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wirebench_services.application.operations import resolve
from wirebench_services.application.stores import open_async_store, open_store
from wirebench_services.settings import RestSettings, Settings, read_settings

from tests.support.waiting import TIMEOUT_S


class StoreClient:
    """The methods of a store, from any thread; those of an asynchronous one are awaited in its loop."""

    def __init__(self, store: object, wait: Callable[[Any], Any] = lambda result: result) -> None:
        self._store = store
        self._wait = wait

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of that name."""
        method = getattr(self._store, name)
        return lambda *arguments: self._wait(method(*arguments))


def make_settings(store: str, folder: Path, url: str = "") -> Settings:
    """Return the settings of a service with this store: memory or postgres."""
    arguments = ["--store", store]
    if store == "postgres":
        file = folder / "url"
        file.write_text(url)
        arguments += ["--store-url-file", str(file)]
    settings: Settings = read_settings(RestSettings, arguments)
    return settings


@contextlib.contextmanager
def opened(settings: Settings, *, asynchronous: bool = False) -> Iterator[StoreClient]:
    """Open a store for threads, or for an event loop that runs in a thread of its own."""
    if not asynchronous:
        with contextlib.closing(open_store(settings)) as store:
            yield StoreClient(store)
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(result: object) -> Any:  # noqa: ANN401 - what the method returns
        return asyncio.run_coroutine_threadsafe(resolve(result), loop).result(TIMEOUT_S)

    try:
        client = StoreClient(open_async_store(settings), wait)
        yield client
        client.close()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
