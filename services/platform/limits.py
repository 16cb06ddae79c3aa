"""How many connections a worker serves, and what it says when there are more."""

from __future__ import annotations

import contextlib
import logging
import resource

log = logging.getLogger(__name__)

#: Of runtimes that have such a limit: the harness's 10,000, and room for those who look on.
CONNECTIONS_MAX = 10_240
CONNECTIONS_FULL = "%d connections are open, as many as a worker serves: further clients wait until one leaves"


def allow_open_files() -> None:
    """Raise this process's limit on open files as far as it may: each connection is one.

    The limit that processes begin with, often 1024, is for programs that use select(2); Go's do the same.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # a system may call "no limit" what it doesn't grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Notice:
    """Something to tell the operator once, however often it happens."""

    def __init__(self) -> None:
        self._given = False

    def give(self, message: str, *values: object) -> None:
        """Log a warning, the first time."""
        if not self._given:
            self._given = True
            log.warning(message, *values)
