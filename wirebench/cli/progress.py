"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from wirebench.cli.verbosity import is_quiet
from wirebench.model.record import Record
from wirebench.plan.plan import Plan
from wirebench.present.numbers import format_minutes
from wirebench.run.progress import TimeLeft

_PLAIN_INTERVAL_S = 5.0


class ProgressBar:
    """How far a task is, while the `with` block runs."""

    def __init__(self, text: str, total: float | None, done: int = 0) -> None:
        self._console = Console(stderr=True, quiet=is_quiet())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            transient=True,
            disable=not self.is_terminal,
        )
        self._task = self._bar.add_task(text, total=total, completed=done, note="")
        self._last_line = time.monotonic()

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, line: str = "", *, always: bool = False, **changes: Any) -> None:  # noqa: ANN401 - rich's
        """Update the bar; without a terminal, print the line, unless it is soon after another and not `always`."""
        self._bar.update(self._task, **changes)
        is_due = always or time.monotonic() - self._last_line >= _PLAIN_INTERVAL_S
        if line and is_due and not self.is_terminal:
            self._last_line = time.monotonic()
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class TerminalProgress(ProgressBar):
    """How far a run is, and how long it will take."""

    def __init__(self, plan: Plan, time_left: TimeLeft) -> None:
        super().__init__("starting", plan.cells_total, len(plan.done))
        self._time_left = time_left

    def step(self, text: str) -> None:
        self.update(text, always=True, description=text)

    def begin_cell(self) -> None:
        self.update(note=f"{format_minutes(self._time_left.compute_s())} left")

    def end_cell(self, record: Record, done: int, total: int) -> None:
        self._time_left.count_done(done)
        factors = record.factors
        text = f"{factors['variant'] or factors['transport']} {factors['operation']} c={factors['concurrency']}"
        streams = record.streams
        rate = f"{streams.item_rate_per_s:,.0f} items/s" if streams else f"{record.rate_achieved_per_s:,.0f}/s"
        left = f"{format_minutes(self._time_left.compute_s())} left"
        line = f"{done}/{total}  {text} by {factors['driver']}: {rate}; {left}"
        self.update(line, always=done == total, completed=done, description=f"{text}: {rate}", note=left)
