"""Telling how a run goes: to whoever listens, how long it will still take, and to a file in its folder."""

from __future__ import annotations

import contextlib
import platform
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, Self

from wirebench.drivers.snapshot import Snapshot, read_snapshot
from wirebench.errors import WirebenchError
from wirebench.measure.record import Record
from wirebench.scenario import Cell, Plan, PlannedCell
from wirebench.stats.names import full_name
from wirebench.store.progress import HISTORY_MAX, Figures, Point, RunProgress, remove_progress, write_progress

_INTERVAL_S = 1.0
#: What a cell takes besides warm-up and window, in seconds: for the first guess of the time left.
_CELL_OVERHEAD_S = {"local": 0.5, "external": 0.5, "kubernetes": 9.0}


class Progress(Protocol):
    """Is told how a run goes."""

    def step(self, text: str) -> None:
        """Hear that something has begun that takes a moment."""

    def measuring(self, planned: PlannedCell, snapshot: Path | None) -> None:
        """Hear that a cell's load begins; `snapshot` is where it tells each second how it goes, if it tells at all."""

    def measured(self, record: Record, done: int, total: int) -> None:
        """Hear that a cell's record is on disk; `done` of `total` are."""


class TimeLeft:
    """How long a run will still take: for each cell as long as those that are done took on average.

    What starting services took is part of it: blocks to come start theirs, too.
    """

    def __init__(self, total: int, cell_s: float, clock: Callable[[], float] = time.monotonic, done: int = 0) -> None:
        """Take the number of cells, and how long one takes as far as is known before the first, in seconds.

        `done` of them were measured before, at a pace that says nothing of this one.
        """
        self._total = total
        self._left = total - done
        self._done_before = done
        self._cell_s = cell_s
        self._clock = clock
        self._started = self._last = clock()

    @classmethod
    def of(cls, plan: Plan, target: str) -> Self:
        """Begin to count for a plan that is about to be carried out on a target of this name."""
        load = plan.scenario.load
        return cls(plan.cells_total, load.warmup_s + load.window_s + _CELL_OVERHEAD_S[target], done=len(plan.done))

    def measured(self, done: int) -> None:
        """Take note that so many cells are done."""
        self._last = self._clock()
        self._left = self._total - done
        self._cell_s = (self._last - self._started) / (done - self._done_before)

    def seconds(self) -> float:
        """Return the time left; a cell that takes longer than others did leaves what those to come will take."""
        left_s = self._left * self._cell_s - (self._clock() - self._last)
        return max(0.0, (self._left - 1) * self._cell_s, left_s)


@dataclass(frozen=True, slots=True)
class Everyone:
    """Tells several listeners the same."""

    listeners: tuple[Progress, ...]

    def step(self, text: str) -> None:
        """Tell all."""
        for each in self.listeners:
            each.step(text)

    def measuring(self, planned: PlannedCell, snapshot: Path | None) -> None:
        """Tell all."""
        for each in self.listeners:
            each.measuring(planned, snapshot)

    def measured(self, record: Record, done: int, total: int) -> None:
        """Tell all."""
        for each in self.listeners:
            each.measured(record, done, total)


@dataclass(frozen=True, slots=True)
class _Heard:
    """What the run has said last; replaced as a whole, as another thread reads it."""

    step: str = "starting"
    cell: Cell | None = None
    snapshot: Path | None = None
    done: int = 0
    last: Figures | None = None


class ProgressFile:
    """Writes a run's `progress.json` once a second while the `with` block runs, and removes it at its end.

    In every run, whether somebody watches or not, so that watching changes nothing. Where it can't be written, the run
    goes on.
    """

    def __init__(self, folder: Path, plan: Plan, time_left: TimeLeft) -> None:
        """Take the run's folder, and what it is about to carry out."""
        self._folder = folder
        self._plan = plan
        self._time_left = time_left
        self._heard = _Heard(done=len(plan.done))
        #: How many seconds of the cell's window are in the history.
        self._seconds = 0
        self._history: deque[Point] = deque(maxlen=HISTORY_MAX)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Begin to tell."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file: the run is over."""
        self._ended.set()
        self._thread.join()
        remove_progress(self._folder)

    def step(self, text: str) -> None:
        """Take note of what has begun."""
        with self._lock:
            self._heard = replace(self._heard, step=text, cell=None, snapshot=None)

    def measuring(self, planned: PlannedCell, snapshot: Path | None) -> None:
        """Take note of the cell, and look from now on what its load tells."""
        text = f"block {planned.block} of {len(self._plan.blocks)}: measuring"
        with self._lock:
            self._seconds = 0
            self._heard = replace(self._heard, step=text, cell=planned.cell, snapshot=snapshot)

    def measured(self, record: Record, done: int, total: int) -> None:  # noqa: ARG002 - the plan has told the total
        """Take note of the cell's figures; they are its only point where nothing was told meanwhile."""
        last = _figures_of_record(record)
        with self._lock:
            self._look()
            if not self._seconds:
                self._history.append(_point(last, done))
            self._time_left.measured(done)
            self._heard = replace(self._heard, cell=None, snapshot=None, done=done, last=last)

    def _tell(self) -> None:
        while True:
            with self._lock:
                progress = self._progress()
            with contextlib.suppress(WirebenchError):
                write_progress(self._folder, progress)
            if self._ended.wait(_INTERVAL_S):
                return

    def _progress(self) -> RunProgress:
        now, heard = self._look(), self._heard
        return RunProgress(
            updated_at=datetime.now(UTC),
            host=platform.node(),
            done=heard.done,
            total=self._plan.cells_total,
            step=heard.step,
            left_s=round(self._time_left.seconds(), 1),
            cell=full_name(heard.cell.factors) if heard.cell else None,
            driver=heard.cell.driver if heard.cell else None,
            tells_each_second=heard.snapshot is not None,
            now=now,
            last=heard.last,
            history=tuple(self._history),
        )

    def _look(self) -> Figures | None:
        """Return what the load has told last, and add it to the history if it is news."""
        heard = self._heard
        told = read_snapshot(heard.snapshot) if heard.snapshot else None
        if heard.cell is None or told is None:
            return None
        figures = _figures_of_second(told, full_name(heard.cell.factors))
        if told.seconds > self._seconds:
            self._seconds = told.seconds
            self._history.append(_point(figures, heard.done + 1))
        return figures


def _point(figures: Figures, cell: int) -> Point:
    rate_per_s = figures.rate_per_s if figures.items_per_s is None else figures.items_per_s
    return Point(at=datetime.now(UTC), cell=cell, rate_per_s=rate_per_s, p99_ms=figures.p99_ms)


def _figures_of_second(told: Snapshot, cell: str) -> Figures:
    latency = told.latency
    return Figures(
        cell=cell,
        rate_per_s=told.successful,
        failed_per_s=told.failed,
        items_per_s=told.items,
        clock=latency.clock if latency else None,
        p50_ms=latency.p50_ns / 1e6 if latency else None,
        p99_ms=latency.p99_ns / 1e6 if latency else None,
    )


def _figures_of_record(record: Record) -> Figures:
    if record.streams:
        clock, latency = "gap", record.streams.gap
    else:
        clock, latency = ("response", record.response) if record.response else ("service", record.service)
    return Figures(
        cell=full_name(record.factors),
        rate_per_s=record.rate_achieved_per_s,
        failed_per_s=sum(record.errors.values()) / record.window_s,
        items_per_s=record.streams.item_rate_per_s if record.streams else None,
        clock=clock if latency else None,
        p50_ms=latency.p50_ms if latency else None,
        p99_ms=latency.p99_ms if latency else None,
    )
