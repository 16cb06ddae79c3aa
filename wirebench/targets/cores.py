"""Cores of their own for server and generator: neither takes CPU time from the other."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores server and generator have: some in common where there is only one, or none can be chosen.

    The server has none of a service on another machine.
    """

    server: frozenset[int]
    generator: frozenset[int]

    @property
    def shared(self) -> bool:
        return bool(self.server & self.generator)

    @property
    def all(self) -> frozenset[int]:
        return self.server | self.generator

    def share(self) -> Cores:
        """Return them with all for both."""
        return Cores(self.all, self.all)

    def __str__(self) -> str:
        if self.shared:
            return f"server and generator share {_format_cores(self.server & self.generator)}"
        server = f"server on {_format_cores(self.server)}, " if self.server else ""
        return f"{server}generator on {_format_cores(self.generator)}"


def divide_cores(available: frozenset[int] | None = None) -> Cores:
    """Give the server the lower half of the cores that this process may use, and the generator the upper half.

    On an odd number the generator has one more: a generator that is too slow falsifies what it measures, a server
    that is too slow is what is measured.
    """
    if available is None:
        # Where processes can't be bound to cores, all share all.
        available = frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0})
    cores = sorted(available)
    half = len(cores) // 2
    if half == 0:
        return Cores(available, available)
    return Cores(frozenset(cores[:half]), frozenset(cores[half:]))


def _format_cores(cores: frozenset[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, sorted(cores)))}"


def _announce(message: str) -> None:
    sys.stderr.write(f"{message} (Ctrl-C to give up)\n")


class CoreClaim:
    """Cores that only one run of this machine uses at a time: two at once would disturb each other.

    Each is an abstract Unix socket, which the kernel releases however the process ends: unix(7).
    """

    def __init__(self, cores: Iterable[int], announce: Callable[[str], object] = _announce) -> None:
        """Claim the cores; if another run has one of them, announce it and wait until that run ends."""
        self._sockets = contextlib.ExitStack()
        for core in sorted(cores) if sys.platform == "linux" else ():  # in order, so that two runs can't wait in turns
            claim, name = self._sockets.enter_context(socket.socket(socket.AF_UNIX)), f"\0wirebench-core-{core}"
            is_announced = False
            while not _try_bind(claim, name):
                if not is_announced:
                    announce(f"waiting for another run that measures on core {core}")
                    is_announced = True
                time.sleep(_POLL_S)
            claim.listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let other runs have the cores."""
        self._sockets.close()


def _try_bind(claim: socket.socket, name: str) -> bool:
    try:
        claim.bind(name)
    except OSError:
        return False
    return True
