"""Cores of their own for server and generator: neither takes CPU time from the other."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores server and generator have; the same ones where there is only one, or none can be chosen."""

    server: frozenset[int]
    generator: frozenset[int]

    @property
    def shared(self) -> bool:
        """Whether server and generator have to share."""
        return bool(self.server & self.generator)

    @property
    def all(self) -> frozenset[int]:
        """The cores of both."""
        return self.server | self.generator

    def __str__(self) -> str:
        """Say who has which cores."""
        if self.shared:
            return f"server and generator share {_listed(self.server)}"
        return f"server on {_listed(self.server)}, generator on {_listed(self.generator)}"


class CoreClaim:
    """Cores that only one run of this machine measures on at a time.

    Each is an abstract Unix socket, which the kernel releases however the process ends: unix(7).
    """

    def __init__(self, cores: Iterable[int]) -> None:
        """Claim the cores. Raises UsageError if another run has one of them."""
        self._sockets = contextlib.ExitStack()
        if sys.platform != "linux":
            return
        with contextlib.ExitStack() as stack:
            for core in cores:
                claim = stack.enter_context(socket.socket(socket.AF_UNIX))
                name = f"\0wirebench-core-{core}"
                try:
                    claim.bind(name)
                except OSError:
                    raise UsageError(
                        f"another run, of process {_find_holder(name)}, measures on core {core}: two at once would "
                        "disturb each other",
                        "wait until it ends, or choose other cores: taskset --cpu-list CORES wirebench run …",
                    ) from None
                claim.listen()
            self._sockets = stack.pop_all()

    def release(self) -> None:
        """Let other runs have the cores."""
        self._sockets.close()


def _find_holder(name: str) -> int | str:
    with socket.socket(socket.AF_UNIX) as peer, contextlib.suppress(OSError):
        peer.connect(name)
        credentials = struct.Struct("3i")  # pid, uid, gid
        answer = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
        return int(credentials.unpack(answer)[0])
    return "unknown"  # it has just ended


def divide_cores(available: frozenset[int] | None = None) -> Cores:
    """Give the server the lower half of the cores that this process may use, and the generator the upper half.

    On an odd number the generator has one more: a generator that is too slow falsifies what it measures, a server
    that is too slow is what is measured.
    """
    cores = sorted(_available() if available is None else available)
    half = len(cores) // 2
    if half == 0:
        return Cores(frozenset(cores), frozenset(cores))
    return Cores(frozenset(cores[:half]), frozenset(cores[half:]))


def _available() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    # Where processes can't be bound to cores, all share all.
    return frozenset({0})


def _listed(cores: frozenset[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, sorted(cores)))}"
