"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Self

from rich import progress as rich_progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from wirebench.cli.console import escape_controls
from wirebench.cli.verbosity import is_quiet, note
from wirebench.model.labels import pluralise
from wirebench.model.record import Record
from wirebench.model.run_info import RunInfo
from wirebench.plan.plan import Plan
from wirebench.present.numbers import format_minutes
from wirebench.run.progress import Progress, TimeLeft
from wirebench.targets.cores import Cores

_PLAIN_INTERVAL_S = 5.0


class ProgressBar:
    """How far a task is, while the `with` block runs."""

    def __init__(self, text: str, total: float | None, done: int = 0) -> None:
        self._console = Console(stderr=True, quiet=is_quiet())
        self._bar = rich_progress.Progress(
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


class TerminalProgress(Progress):
    """Shows how far a run is, and how long it will take."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._time_left = TimeLeft(plan)
        self._bar = ProgressBar("starting", plan.cells_total, len(plan.done))
        #: What was announced of the run; None if its folder was never there.
        self.info: RunInfo | None = None

    def begin(self, info: RunInfo, folder: Path, cores: Cores | None) -> None:
        self.info = info
        plan, notes = self._plan, (f"note: {note}" for note in info.notes)
        done = f", {len(plan.done)} of {pluralise(plan.cells_total, 'window')} done before" if plan.done else ""
        at_most = "at most " if plan.scenario.load.model == "calls" else ""
        lines = [
            escape_controls(info.question),
            f"{pluralise(len(plan.cells), 'cell')} × {pluralise(len(plan.blocks), 'block')}{done}, {at_most}"
            f"{plan.measured_s:.0f} s of load; seed {plan.seed}; {info.target} target"
            + (f" ({cores})" if cores else ""),
            *([escape_controls(f"overrides: {'; '.join(info.overrides)}")] if info.overrides else []),
            f"results: {folder}/",
            *notes,
        ]
        note("\n".join(lines))
        self._bar.__enter__()

    def step(self, text: str) -> None:
        left = f"{format_minutes(self._time_left.compute_s())} left"
        self._bar.update(text, always=True, description=text, note=left)

    def end_cell(self, record: Record, done: int) -> None:
        self._time_left.count_done(done)
        total, factors, streams = self._plan.cells_total, record.factors, record.streams
        text = f"{factors['variant'] or factors['transport']} {factors['operation']} c={factors['concurrency']}"
        rate = f"{streams.item_rate_per_s:,.0f} items/s" if streams else f"{record.rate_achieved_per_s:,.0f}/s"
        left = f"{format_minutes(self._time_left.compute_s())} left"
        line = f"{done}/{total}  {text} by {factors['driver']}: {rate}; {left}"
        self._bar.update(line, always=done == total, completed=done, description=f"{text}: {rate}", note=left)

    def warn(self, text: str) -> None:
        sys.stderr.write(f"warning: {text}\n")

    def end(self) -> None:
        self._bar.__exit__()
