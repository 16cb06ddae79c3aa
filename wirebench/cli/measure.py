"""What `run` and `resume` do alike: measure, show the figures, write the report."""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wirebench.cli import stdout
from wirebench.cli.console import escape_controls
from wirebench.cli.progress_bar import TerminalProgress
from wirebench.cli.results import show_run
from wirebench.cli.verbosity import is_quiet, note
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.plan.plan import Plan
from wirebench.run.runner import execute
from wirebench.run.target_options import TargetOptions
from wirebench.store.runs import load_info, record_paths
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A plan that a command measures, where, and as which run in the folder `out`."""

    plan: Plan
    target: TargetOptions
    out: Path
    name: str
    #: The run to continue.
    resumed: Run | None = None
    #: None is as the resumed run began, or else true.
    calibrate: bool | None = None
    #: Whether the run's own copy of the application file is the only one.
    keep_application: bool = False


@contextlib.contextmanager
def make_temporary_folder() -> Iterator[Path]:
    """Yield a folder that exists while the `with` block runs; errors name files in it without the folder."""
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        try:
            yield Path(folder)
        except WirebenchError as error:
            for name in ("message", "hint", "details"):
                setattr(error, name, getattr(error, name).replace(f"{folder}/", ""))
            raise


def measure_and_show(measurement: PlannedRun, *, json: bool) -> None:
    """Measure, show the figures and write the report. Raises UsageError, WirebenchError, Interrupted."""
    progress = TerminalProgress(measurement.plan)
    try:
        with handle_interrupts(STOPPING):
            run = execute(
                measurement.plan,
                measurement.target,
                measurement.out,
                name=measurement.name,
                command=shlex.join(["wirebench", *sys.argv[1:]]),
                resumed=measurement.resumed,
                calibrate=measurement.calibrate,
                keep_application=measurement.keep_application,
                progress=progress,
            )
    except (WirebenchError, Interrupted) as error:
        if progress.info:
            _describe_rest(measurement.out / measurement.name, is_interrupted=isinstance(error, Interrupted))
        raise
    announced = progress.info.notes if progress.info else ()
    for text in run.info.notes:
        if text not in announced:
            note(f"note: {escape_controls(text)}")
    _conclude(run, json=json)


def _conclude(run: Run, *, json: bool) -> None:
    """Show the figures, and then write the report: even if that fails, the figures were shown."""
    from wirebench.web.report import write_report

    again = f"write the report by: wirebench report {run.folder}"
    try:
        problem = _try_to_print(run, json=json)
        report = write_report(run)
    except WirebenchError as error:
        raise WirebenchError(error.message, f"{error.hint}; then {again}") from error
    except Interrupted:
        sys.stderr.write(f"\nall records are on disk; {again}\n")
        raise
    note(f"\nReport: {report}")
    if problem:
        raise WirebenchError(f"can't print the figures: {problem}", f"`wirebench results {run.folder}` shows them")


def _try_to_print(run: Run, *, json: bool) -> str:
    try:
        is_noted = sys.stdout.isatty() and sys.stderr.isatty() and not is_quiet()
        show_run(run, json=json, known=run.info.notes if is_noted else ())
        sys.stdout.flush()
    except OSError as error:  # a closed pipe, a full disk
        stdout.drop()
        return error.strerror or str(error)
    return ""


def _describe_rest(folder: Path, *, is_interrupted: bool) -> None:
    """Print where the records are, and how to continue; without any, only after an interrupt."""
    if (folder / "run.json").is_file() and (is_interrupted or any(record_paths(folder))):
        is_complete = load_info(folder).status == "complete"
        rest = "" if is_complete else f", and `wirebench resume {folder}` measures the rest"
        shown = f"`wirebench results {folder}` shows it"
        sys.stderr.write(f"what was measured is in {folder}/: {shown}{rest}\n")
    elif is_interrupted:
        sys.stderr.write("nothing had been measured, and nothing is left\n")
