"""Ends calls of the sync runtime whose clients begin a request and don't finish it.

Such a call holds a thread, and gRPC itself waits for ever for a client that is alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import grpc

_CHECKS_PER_TIMEOUT = 4


class SlowClients:
    """Reads requests, and cancels the calls that keep it waiting for longer than the time-out."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        #: Since when a call waits for its request.
        self._since_s: dict[grpc.ServicerContext, float] = {}
        threading.Thread(target=self._watch, name="slow clients", daemon=True).start()

    def read(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Return the call's only request; one that never comes is an empty one. Raises RpcError."""
        self._since_s[context] = time.monotonic()
        try:
            return next(requests, b"")
        finally:
            del self._since_s[context]

    def _watch(self) -> None:
        while True:
            time.sleep(self._timeout_s / _CHECKS_PER_TIMEOUT)
            oldest_s = time.monotonic() - self._timeout_s
            for context, since_s in self._since_s.copy().items():
                if since_s < oldest_s:
                    context.cancel()
