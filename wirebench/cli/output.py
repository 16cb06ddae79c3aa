"""What the terminal shows: errors, progress, and the table of a run."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from wirebench.errors import WirebenchError
from wirebench.measure.record import Record
from wirebench.progress import TimeLeft
from wirebench.scenario import Plan, PlannedCell
from wirebench.stats import METRICS, CellSummary, conclude, series, summarise
from wirebench.stats.handshakes import handshakes
from wirebench.stats.names import counted
from wirebench.stats.parts import pauses
from wirebench.stats.remarks import disruptions, proxy_cost, sweep, throughout, uneven_workers
from wirebench.stats.words import caveat, sentence
from wirebench.store import DamagedRun, Run

_PLAIN_INTERVAL_S = 5.0
#: As wide as a table may get where there is no terminal to set a limit.
_PLAIN_WIDTH = 10_000
_ERROR_TEXTS_SHOWN = 5
_ABSENT = "–"


def complain(error: WirebenchError) -> None:
    """Write an error to stderr: what is wrong, a tool's last lines if there are any, and what to do next."""
    lines = [f"error: {error.message}"]
    if error.details:
        lines += [f"  | {line}" for line in error.details.splitlines()]
    if error.hint:
        lines.append(f"next: {error.hint}")
    sys.stderr.write(_visible_lines("\n".join(lines)) + "\n")


def stdout_console(file: TextIO | None = None) -> Console:
    """Return what to print results on (by default stdout): as wide as the terminal; without one, nothing is cut.

    All text is shown as it is: none of it is markup, and none steers the terminal.
    """
    width = None if (file or sys.stdout).isatty() else _PLAIN_WIDTH
    return _PlainConsole(file=file, width=width, markup=False, highlight=False)


class _PlainConsole(Console):
    """Shows control characters as what they are: questions, versions and reasons may be of an imported run."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's, handed on
        """Turn a text into what is shown, line by line."""
        return super().render_str(_visible_lines(text), **options)


def warn_of_damaged(run: DamagedRun) -> None:
    """Say on stderr that a run is passed over, and why."""
    sys.stderr.write(f"warning: passed over {run.folder}, which can't be read: {run.reason}\n")


def warn_of_index(error: WirebenchError) -> None:
    """Say on stderr that the index doesn't get a run, and what to do when it is over."""
    next_step = "next: once that is mended, `wirebench index` puts in what it lacks"
    sys.stderr.write(f"warning: {error.message}; the run goes on without it\n{next_step}\n")


def visible(text: str) -> str:
    """Return the text with control characters escaped: what others have stored must not steer our terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


class TerminalProgress:
    """Shows how far a run is and how long it will take: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, plan: Plan, time_left: TimeLeft) -> None:
        """Take what is about to be carried out, and how long that will take."""
        self._time_left = time_left
        self._last_line = 0.0
        self._console = Console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]} left"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=plan.cells_total, completed=len(plan.done), left=self._left())

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.stop()

    def step(self, text: str) -> None:
        """Say what has begun."""
        self._bar.update(self._task, description=text)
        self._say(text, always=True)

    def measuring(self, planned: PlannedCell, snapshot: Path | None) -> None:  # noqa: ARG002 - figures come at the end
        """Say how long the rest will take, as services were started meanwhile."""
        self._bar.update(self._task, left=self._left())

    def measured(self, record: Record, done: int, total: int) -> None:
        """Say what was measured, and how long the rest will take."""
        self._time_left.measured(done)
        text = f"{record.factors['transport']} {record.factors['operation']} c={record.factors['concurrency']}"
        rate = f"{record.rate_achieved_per_s:,.0f}/s"
        if record.streams:
            rate = f"{record.streams.item_rate_per_s:,.0f} items/s"
        self._bar.update(self._task, completed=done, description=f"{text}: {rate}", left=self._left())
        self._say(
            f"{done}/{total}  {text} by {record.factors['driver']}: {rate}; {self._left()} left", always=done == total
        )

    def _left(self) -> str:
        seconds = round(self._time_left.seconds())
        return f"{seconds // 60}:{seconds % 60:02d}"

    def _say(self, text: str, *, always: bool) -> None:
        now = time.monotonic()
        if self._console.is_terminal or (not always and now - self._last_line < _PLAIN_INTERVAL_S):
            return
        self._last_line = now
        self._console.print(text, highlight=False, soft_wrap=True)


def print_run(run: Run, console: Console) -> None:
    """Print a run on what `stdout_console` gives: its question, a table of cells, a sentence a comparison, failures."""
    cells = summarise(run.records)
    console.print(f"\n{run.info.question}", style="bold")
    if run.info.status != "complete":
        done = f"{len(run.records)} of {counted(run.info.cells * run.info.blocks, 'cell')}"
        console.print(
            f"This run is {run.info.status}: {run.info.reason or 'it goes on'}; {done} are here.", style="yellow"
        )
    if run.info.status == "incomplete":
        console.print(f"`wirebench resume {run.info.id}` measures the rest, where these were measured.", style="yellow")
    if not cells:
        return
    if alike := throughout(cells):
        console.print(f"{'All cells' if len(cells) > 1 else 'The cell'}: {alike}", soft_wrap=True)
    console.print(_table(cells))
    comparisons = conclude(run)
    for comparison in comparisons:
        console.print(f"• {sentence(comparison)}", soft_wrap=True)
    told = (*disruptions(cells), *map(sweep, series(cells, "concurrency")), *handshakes(cells))
    for line in (*told, *filter(None, [proxy_cost(cells), uneven_workers(cells)])):
        console.print(f"• {line}", soft_wrap=True)
    for warning in (*pauses(run), *filter(None, [caveat(comparisons)]), *_failed_gates(cells), *_errors(cells)):
        console.print(f"! {warning}", style="yellow", soft_wrap=True)


def _table(cells: tuple[CellSummary, ...]) -> Table:
    varied = [name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1]
    # A transport's runtime and codec come with it: they say nothing that the transport doesn't.
    shown = [name for name in varied if name not in _implied(cells)]
    table = Table(caption="typical block (geometric mean); × is the largest block over the smallest")
    for name in shown or ["transport"]:
        table.add_column(name)
    # Requests and streams have figures of their own.
    figures = [column for column in _FIGURES if any(column[1](cell) != _ABSENT for cell in cells)]
    for heading, _ in figures:
        table.add_column(heading, justify="right", overflow="fold")
    for cell in cells:
        levels = (_level(cell.factors[name]) for name in shown or ["transport"])
        table.add_row(*levels, *(figure(cell) for _, figure in figures))
    return table


def _level(level: str | float | None) -> str:
    """Write a factor's level as a scenario does."""
    return "none" if level is None else str(level)


def _implied(cells: tuple[CellSummary, ...]) -> set[str]:
    """Return the factors that others already tell: every transport has one level of them in each implementation."""
    implied = set()
    for name in ("runtime", "codec", "threads"):
        pairs = {((cell.factors["transport"], cell.factors["implementation"]), cell.factors[name]) for cell in cells}
        if len(pairs) == len({owner for owner, _ in pairs}):
            implied.add(name)
    return implied


def _share(cell: CellSummary) -> str:
    shares = [record.generator.cpu_share for record in cell.records if record.generator.cpu_share is not None]
    return f"{max(shares):.0%}" if shares else _ABSENT


def _cpu_us(cell: CellSummary) -> str:
    cpu_ms = cell.typical(METRICS["cpu"])
    return _figure(None if cpu_ms is None else cpu_ms * 1000, ",.0f")


def _shares(cell: CellSummary) -> str:
    return " / ".join(f"{share * 100:.0f}" for share in cell.replica_shares()) or _ABSENT


def _figure(value: float | None, form: str) -> str:
    return _ABSENT if value is None else format(value, form)


_FIGURES: tuple[tuple[str, Callable[[CellSummary], str]], ...] = (
    ("requests/s", lambda cell: _figure(cell.typical(METRICS["throughput"]), ",.0f")),
    ("items/s", lambda cell: _figure(cell.typical(METRICS["item_rate"]), ",.0f")),
    ("×", lambda cell: _figure(cell.spread(cell.rate), ".2f")),
    ("p50 ms", lambda cell: _figure(cell.typical(METRICS["p50"]), ".3f")),
    ("p99 ms", lambda cell: _figure(cell.typical(METRICS["p99"]), ".3f")),
    ("server CPU µs/req", _cpu_us),
    ("first item ms", lambda cell: _figure(cell.typical(METRICS["first_item"]), ".3f")),
    ("gap p99 ms", lambda cell: _figure(cell.typical(METRICS["gap"]), ".3f")),
    ("server CPU µs/item", lambda cell: _figure(cell.typical(METRICS["item_cpu"]), ",.1f")),
    ("replicas' %", _shares),
    ("generator CPU", _share),
    ("gates", lambda cell: ", ".join(gate.name for gate in cell.failed_gates()) or "ok"),
)


def _failed_gates(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Say of each gate that failed where it did, and what to do."""
    failed = [gate for cell in cells for gate in cell.failed_gates()]
    for name, count in Counter(gate.name for gate in failed).items():
        advice = next(gate.advice for gate in failed if gate.name == name)
        yield f"gate {name} failed in {counted(count, 'cell')}: {advice}"


def _errors(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Say the most frequent errors with their counts, and the cells that met them the most."""
    met: dict[str, Counter[str]] = {}
    for cell in cells:
        for error in cell.errors:
            met.setdefault(f"{error.code}: {error.message}", Counter())[cell.full_name] += error.count
    by_count = sorted(met.items(), key=lambda each: -each[1].total())
    for text, counts in by_count[:_ERROR_TEXTS_SHOWN]:
        cell_name, _ = counts.most_common(1)[0]
        where = cell_name if len(counts) == 1 else f"{counted(len(counts), 'cell')}, most in {cell_name}"
        yield f"{counts.total():,}× {visible(text)} ({where})"
    if len(by_count) > _ERROR_TEXTS_SHOWN:
        yield f"{counted(len(by_count) - _ERROR_TEXTS_SHOWN, 'more error text')} in the report"
