"""Progress of a run: to listeners, as the time left, and as a file in its folder."""

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

from wirebench.analysis.summary import find_shared_factors, sort_key
from wirebench.drivers.snapshot import Snapshot, read_snapshot
from wirebench.errors import WirebenchError
from wirebench.model.cell import Cell
from wirebench.model.labels import Factors, name_cell, name_cell_fully
from wirebench.model.metric import choose_clock, choose_latency
from wirebench.model.record import Record
from wirebench.plan.plan import Plan, PlannedCell
from wirebench.results.progress import HISTORY_MAX, Figures, ProgressPoint, RunProgress, remove_progress, write_progress

_INTERVAL_S = 1.0
#: What a cell takes besides warm-up and window, in seconds: for the first guess of the time left.
_CELL_OVERHEAD_S = {"local": 0.5, "external": 0.5, "kubernetes": 9.0}


class Progress(Protocol):
    """Receives the progress of a run."""

    def step(self, text: str) -> None:
        """Receive the name of a step that takes a moment, when it begins."""

    def begin_cell(self, planned: PlannedCell, snapshot: Path | None) -> None:
        """Receive a cell when its load begins; `snapshot` is the file of its live figures, if its driver writes one."""

    def end_cell(self, record: Record, done: int, total: int) -> None:
        """Receive a cell's record when it is on disk; `done` of `total` are."""


class TimeLeft:
    """How long a run will still take: for each cell as long as those that are done took on average.

    The first counts as long as expected: calibration and the first start come once. Blocks to come start services, too.
    """

    def __init__(self, total: int, cell_s: float, clock: Callable[[], float] = time.monotonic, done: int = 0) -> None:
        """Take the number of cells, and how long one takes as far as is known before the first, in seconds.

        `done` of them were measured before, at another pace.
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
        cell_s = load.windows * (load.warmup_s + load.window_s + _CELL_OVERHEAD_S[target])
        return cls(plan.cells_total, cell_s, done=len(plan.done))

    def count_done(self, done: int) -> None:
        self._last = self._clock()
        if self._left == self._total - self._done_before:
            self._started = self._last - self._cell_s * (done - self._done_before)
        self._left = self._total - done
        self._cell_s = (self._last - self._started) / (done - self._done_before)

    def compute_s(self) -> float:
        """Return the time left; a cell that takes longer than others did leaves what those to come will take."""
        left_s = self._left * self._cell_s - (self._clock() - self._last)
        return max(0.0, (self._left - 1) * self._cell_s, left_s)


@dataclass(frozen=True, slots=True)
class ProgressListeners:
    """Passes progress on to several listeners."""

    listeners: tuple[Progress, ...]

    def step(self, text: str) -> None:
        for each in self.listeners:
            each.step(text)

    def begin_cell(self, planned: PlannedCell, snapshot: Path | None) -> None:
        for each in self.listeners:
            each.begin_cell(planned, snapshot)

    def end_cell(self, record: Record, done: int, total: int) -> None:
        for each in self.listeners:
            each.end_cell(record, done, total)


@dataclass(frozen=True, slots=True)
class _State:
    """The run's last progress; replaced as a whole, because another thread reads it."""

    step: str = "starting"
    cell: Cell | None = None
    snapshot: Path | None = None
    done: int = 0
    last: Figures | None = None


class ProgressFile:
    """Writes a run's `progress.json` once a second while the `with` block runs, and removes it at its end.

    It is written in every run, so that watching one changes nothing. If it can't be written, the run continues.
    """

    def __init__(self, folder: Path, plan: Plan, time_left: TimeLeft) -> None:
        self._folder = folder
        self._plan = plan
        self._time_left = time_left
        self._state = _State(done=len(plan.done))
        factors = sorted((cell.factors for cell in plan.cells), key=sort_key)
        self._shared = find_shared_factors(factors)
        self._variants = {self._name_variant(each): str(each["transport"]) for each in factors}
        #: The last snapshot of the cell that is in the history.
        self._seen: Snapshot | None = None
        self._history: deque[ProgressPoint] = deque(maxlen=HISTORY_MAX)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_regularly, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        remove_progress(self._folder)

    def _name_variant(self, factors: Factors) -> str:
        return name_cell(factors, self._shared, self._plan.scenario.compare)

    def step(self, text: str) -> None:
        with self._lock:
            self._state = replace(self._state, step=text, cell=None, snapshot=None)

    def begin_cell(self, planned: PlannedCell, snapshot: Path | None) -> None:
        text = f"{self._plan.describe_block(planned.block)}: measuring"
        with self._lock:
            self._seen = None
            self._state = replace(self._state, step=text, cell=planned.cell, snapshot=snapshot)

    def end_cell(self, record: Record, done: int, total: int) -> None:  # noqa: ARG002 - the plan has the total
        last = _convert_record(record)
        with self._lock:
            self._read_snapshot()
            if self._seen is None:
                self._history.append(_make_point(last, done, self._name_variant(record.factors)))
            self._time_left.count_done(done)
            self._state = replace(self._state, cell=None, snapshot=None, done=done, last=last)

    def _write_regularly(self) -> None:
        while True:
            with self._lock:
                progress = self._make_progress()
            with contextlib.suppress(WirebenchError):
                write_progress(self._folder, progress)
            if self._ended.wait(_INTERVAL_S):
                return

    def _make_progress(self) -> RunProgress:
        now, state = self._read_snapshot(), self._state
        return RunProgress(
            updated_at=datetime.now(UTC),
            host=platform.node(),
            done=state.done,
            total=self._plan.cells_total,
            variants=self._variants,
            step=state.step,
            left_s=round(self._time_left.compute_s(), 1),
            cell=name_cell_fully(state.cell.factors) if state.cell else None,
            driver=state.cell.driver if state.cell else None,
            writes_snapshots=state.snapshot is not None,
            now=now,
            last=state.last,
            history=tuple(self._history),
        )

    def _read_snapshot(self) -> Figures | None:
        """Return the last figures of the load, and add them to the history if they are new."""
        state = self._state
        snapshot = read_snapshot(state.snapshot) if state.snapshot else None
        if state.cell is None or snapshot is None:
            return None
        figures = _convert_snapshot(snapshot, name_cell_fully(state.cell.factors))
        if snapshot != self._seen:  # the windows of a search may all end at the same second
            self._seen = snapshot
            self._history.append(_make_point(figures, state.done + 1, self._name_variant(state.cell.factors)))
        return figures


def _make_point(figures: Figures, cell: int, variant: str) -> ProgressPoint:
    rate_per_s = figures.rate_per_s if figures.items_per_s is None else figures.items_per_s
    return ProgressPoint(at=datetime.now(UTC), cell=cell, variant=variant, rate_per_s=rate_per_s, p99_ms=figures.p99_ms)


def _convert_snapshot(snapshot: Snapshot, cell: str) -> Figures:
    latency = snapshot.latency
    return Figures(
        cell=cell,
        rate_per_s=snapshot.successful,
        failed_per_s=snapshot.failed,
        items_per_s=snapshot.items,
        clock=latency.clock if latency else None,
        p50_ms=latency.p50_ns / 1e6 if latency else None,
        p99_ms=latency.p99_ns / 1e6 if latency else None,
    )


def _convert_record(record: Record) -> Figures:
    latency = record.streams.gap if record.streams else choose_latency(record)
    return Figures(
        cell=name_cell_fully(record.factors),
        rate_per_s=record.rate_achieved_per_s,
        failed_per_s=sum(record.errors.values()) / record.window_s,
        items_per_s=record.streams.item_rate_per_s if record.streams else None,
        clock=(choose_clock(record) or "gap") if latency else None,
        p50_ms=latency.p50_ms if latency else None,
        p99_ms=latency.p99_ms if latency else None,
    )
