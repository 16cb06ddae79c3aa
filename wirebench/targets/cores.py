"""Cores of their own for server and generator: neither takes CPU time from the other."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores server and generator have; the same ones where there is only one, or none can be chosen."""

    server: frozenset[int]
    generator: frozenset[int]

    @property
    def shared(self) -> bool:
        """Whether server and generator have to share."""
        return bool(self.server & self.generator)

    def __str__(self) -> str:
        """Say who has which cores."""
        if self.shared:
            return f"server and generator share {_listed(self.server)}"
        return f"server on {_listed(self.server)}, generator on {_listed(self.generator)}"


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
