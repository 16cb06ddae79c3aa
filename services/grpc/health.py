"""Health checks of the asyncio server: gRPC's own, but their watches end when the service stops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import grpc
from grpc_health.v1 import health
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse


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
