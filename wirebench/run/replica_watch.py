"""Watches the replicas of a service while a plain load runs: how many there are, and the requests/s of each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from wirebench.errors import WirebenchError


class ShowRates(Protocol):
    """Shows the requests/s of each replica, and how many replicas there were before if that has changed."""

    def __call__(self, rates: Mapping[str, float], before: int | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplicaPhase:
    """A part of a load with the same replicas: when it began and was last seen, and the requests/s of each by then."""

    start_s: float
    end_s: float
    rates: Mapping[str, float]


@dataclass(slots=True)
class ReplicaWatch:
    """Reads rates again and again, and appends to `phases` whenever other replicas are there."""

    read: Callable[[], Mapping[str, float]]
    show: ShowRates
    phases: list[ReplicaPhase]
    clock: Callable[[], float] = time.monotonic
    started: float | None = field(default=None)

    def look(self) -> None:
        """Read the rates once; leave out what can't be read, as the load doesn't need it."""
        with contextlib.suppress(WirebenchError):
            if not (rates := self.read()):
                return
            now = self.clock()
            self.started = now if self.started is None else self.started
            end_s = now - self.started
            before = self.phases[-1].rates if self.phases else rates
            if not self.phases or before.keys() != rates.keys():
                self.phases.append(ReplicaPhase(end_s, end_s, rates))
            self.phases[-1] = replace(self.phases[-1], end_s=end_s, rates=rates)
            self.show(rates, None if before.keys() == rates.keys() else len(before))
