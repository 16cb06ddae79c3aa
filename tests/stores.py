"""Stores for tests, asked alike whether they answer at once or are awaited."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from services.domain import stores
from services.domain.answers import Answer
from services.domain.application import Application
from services.domain.stores.settings import StoreSettings
from services.domain.stores.store import Store

_TIMEOUT_S = 30.0

T = TypeVar("T")


def at_once(answer: Answer[T]) -> T:
    """Return the answer of a store that isn't asynchronous."""
    assert not isinstance(answer, Awaitable)
    return answer


class Asked:
    """Operations, from any thread; what they return has been awaited where it has to be."""

    def __init__(self, operations: object, wait: Callable[[Callable[[], Any]], Any]) -> None:
        self._operations = operations
        self._wait = wait

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the operation of that name."""
        operation = getattr(self._operations, name)
        return lambda *arguments, **named: self._wait(lambda: operation(*arguments, **named))


@contextlib.contextmanager
def opened(settings: StoreSettings, folder: Path, *, asynchronous: bool = False) -> Iterator[tuple[Asked, Asked]]:
    """Open a store as a worker does whose runtime is asynchronous or isn't; yield its users, and itself."""
    with contextlib.closing(stores.open_store(settings, folder, 4 if asynchronous else None)) as store:
        application = Application.over(store)
        assert asynchronous is application.asynchronous or settings.kind == "memory"
        with _loop_of(store) if application.asynchronous else contextlib.nullcontext(_call) as wait:
            yield Asked(application.users, wait), Asked(store, wait)


def _call(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the operation returns
    return call()


@contextlib.contextmanager
def _loop_of(store: Store) -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Have a loop run in which the store is open, and yield what waits for a call's answer there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def answer(call: Callable[[], Any]) -> Any:  # noqa: ANN401
        return await call()

    def wait(call: Callable[[], Any]) -> Any:  # noqa: ANN401
        return asyncio.run_coroutine_threadsafe(answer(call), loop).result(_TIMEOUT_S)

    in_loop = stores.held_open(store)
    try:
        wait(in_loop.__aenter__)
        yield wait
        wait(lambda: in_loop.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
