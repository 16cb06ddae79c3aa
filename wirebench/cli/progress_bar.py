"""Progress of a run on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from rich import progress as rich_progress
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from wirebench.cli.console import escape_controls
from wirebench.cli.log import LOG
from wirebench.errors import pluralise
from wirebench.model.record import Record
from wirebench.model.run_info import RunInfo
from wirebench.plan.plan import Plan
from wirebench.present.numbers import format_minutes
from wirebench.run.progress import Progress, TimeLeft
from wirebench.targets.cores import Cores

_PLAIN_INTERVAL_S = 5.0


class TerminalProgress(Progress):
    """Shows how far a run is, and how long it will take."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._time_left = plan, TimeLeft(plan)
        console = Console(stderr=True)
        self._has_bar = console.is_terminal and LOG.isEnabledFor(logging.INFO)
        self._bar = rich_progress.Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not self._has_bar,
        )
        self._task = self._bar.add_task("starting", total=plan.cells_total, completed=len(plan.done), left="")
        self._last_line = time.monotonic()
        #: The run's folder once it is there, and the notes that were announced then.
        self.folder: Path | None = None
        self.notes: tuple[str, ...] = ()

    def begin(self, info: RunInfo, folder: Path, cores: Cores | None) -> None:
        self.folder, plan = folder, self._plan
        done = f", {len(plan.done)} of {pluralise(plan.cells_total, 'window')} done before" if plan.done else ""
        at_most = "at most " if plan.scenario.load.model == "calls" else ""
        lines = [
            info.question,
            f"{pluralise(len(plan.cells), 'cell')} × {pluralise(len(plan.blocks), 'block')}{done}, {at_most}"
            f"{plan.measured_s:.0f} s of load; seed {plan.seed}; {info.target} target"
            + (f" ({cores})" if cores else ""),
            *([f"overrides: {'; '.join(info.overrides)}"] if info.overrides else []),
            f"results: {folder}/",
            *(f"note: {note}" for note in info.notes),
        ]
        LOG.info("%s", escape_controls("\n".join(lines)))
        self.notes = info.notes if LOG.isEnabledFor(logging.INFO) else ()
        self._bar.start()

    def step(self, text: str) -> None:
        self._show(text, always=True, description=text)

    def end_cell(self, record: Record, done: int) -> None:
        self._time_left.count_done(done)
        total, factors, streams = self._plan.cells_total, record.factors, record.streams
        text = f"{factors['variant'] or factors['transport']} {factors['operation']} c={factors['concurrency']}"
        rate = f"{streams.item_rate_per_s:,.0f} items/s" if streams else f"{record.rate_achieved_per_s:,.0f}/s"
        line = f"{done}/{total}  {text} by {factors['driver']}: {rate}"
        self._show(line, always=done == total, completed=done, description=f"{text}: {rate}")

    def _show(self, line: str, *, always: bool, **changes: Any) -> None:  # noqa: ANN401 - rich's
        """Update the bar; without one, print the line, unless it is soon after another and not `always`."""
        left = f"{format_minutes(self._time_left.compute_s())} left"
        self._bar.update(self._task, left=left, **changes)
        if not self._has_bar and (always or time.monotonic() - self._last_line >= _PLAIN_INTERVAL_S):
            self._last_line = time.monotonic()
            LOG.info("%s; %s", line, left)

    def end(self) -> None:
        self._bar.stop()
