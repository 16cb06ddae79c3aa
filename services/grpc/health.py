"""Health checks: gRPC's own, but their watches end when the service stops, which would wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import grpc
from grpc_health.v1 import health
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

#: Sends a reply of a stream; None ends it.
_Send = Callable[[HealthCheckResponse | None], None]


class SyncHealth(health.HealthServicer):
    """For `grpc.server`."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: set[_Watch] = set()
        self._is_stopping = False

    def Watch(self, request: HealthCheckRequest, context: Any, send_response_callback: Any = None) -> Any:  # noqa: ANN401
        """Tell a client of each change; the call outlives this method, and holds no thread."""
        watch = _Watch(send_response_callback)
        watcher = super().Watch(request, context, watch.send)
        self._watches.add(watch)
        context.add_callback(lambda: self._watches.discard(watch))
        if self._is_stopping:  # maybe too late to be ended with the others
            watch.send(None)
        return watcher

    def enter_graceful_shutdown(self) -> None:
        """Tell clients that nothing is served any more, and end their watches."""
        super().enter_graceful_shutdown()
        # From here on a watch that begins says so with its first word, and ends itself if we don't find it.
        self._is_stopping = True
        for watch in self._watches.copy():
            watch.send(None)


class _Watch:
    """One client's stream, which ends once: gRPC's own servicer ends each once more when it is over."""

    def __init__(self, send: _Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._has_ended = False

    def send(self, response: HealthCheckResponse | None) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = response is None
        self._send(response)


class AioHealth(health.aio.HealthServicer):
    """For `grpc.aio.server`."""

    def __init__(self) -> None:
        super().__init__()
        self._watched: list[str] = []
        self._is_stopping = False

    async def Watch(self, request: HealthCheckRequest, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Tell a client of each change."""

        async def write(response: HealthCheckResponse) -> None:
            await context.write(response)
            if self._is_stopping and response.status != HealthCheckResponse.SERVING:
                raise _LastWordError

        writer: Any = SimpleNamespace(write=write)
        # Ended from inside, after a write: a call that is cancelled while it writes can't be ended any more.
        self._watched.append(request.service)
        try:
            await super().Watch(request, writer)
        except _LastWordError:
            pass
        finally:
            self._watched.remove(request.service)

    async def enter_graceful_shutdown(self) -> None:
        """Tell clients that nothing is served any more, also what never was, and end their watches."""
        self._is_stopping = True
        for name in set(self._watched):
            await self.set(name, HealthCheckResponse.NOT_SERVING)
        await super().enter_graceful_shutdown()


class _LastWordError(Exception):
    """A watch has nothing more to say."""
