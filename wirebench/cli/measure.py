"""What `run`, `resume` and `load` do alike: measure, show the figures, write the report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from wirebench.cli.log import LOG
from wirebench.cli.progress_bar import TerminalProgress
from wirebench.cli.results import show_run
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.plan.plan import Plan
from wirebench.run.runner import execute
from wirebench.run.target_options import TargetOptions
from wirebench.store.runs import load_info, record_paths
from wirebench.system.signals import Interrupted


def measure(  # noqa: PLR0913 - options, some with a default
    plan: Plan,
    target: TargetOptions,
    out: Path,
    *,
    resumed: Run | None = None,
    calibrate: bool | None = None,
    keep_application: bool = False,
) -> tuple[Run, Sequence[str]]:
    """Run a plan as `execute` does, with its progress; return the run, and its notes that were shown.

    Raises UsageError, WirebenchError, Interrupted.
    """
    progress = TerminalProgress(plan)
    try:
        run = execute(
            plan,
            target,
            out,
            resumed=resumed,
            calibrate=calibrate,
            keep_application=keep_application,
            progress=progress,
        )
    except (WirebenchError, Interrupted) as error:
        if progress.folder:
            _describe_rest(progress.folder, is_interrupted=isinstance(error, Interrupted))
        raise
    return run, progress.notes


def show_and_report(run: Run, known: Sequence[str], *, json: bool) -> None:
    """Show the figures, without notes that are known, and write the report. Raises WirebenchError."""
    from wirebench.web.report import write_report

    try:
        report = write_report(run)
    except WirebenchError as error:
        raise WirebenchError(error.message, f"{error.hint}; then: wirebench report {run.folder}") from error
    finally:
        with contextlib.suppress(BrokenPipeError, SystemExit):  # also rich's: who read it has left, the run is complete
            show_run(run, json=json, known=known)
            sys.stdout.flush()
    LOG.info("\nReport: %s", report)
    if not any(record.has_replies for record in run.records):
        hint = "lengthen it (--duration, load.window_s), or see whether the service hangs"
        raise WirebenchError("nothing was measured: all replies take longer than the window", hint)


def _describe_rest(folder: Path, *, is_interrupted: bool) -> None:
    """Print where the records are, and how to continue; without any, only after an interrupt."""
    if (folder / "run.json").is_file() and (is_interrupted or any(record_paths(folder))):
        is_complete = load_info(folder).status == "complete"
        rest = "" if is_complete else f", and `wirebench resume {folder}` measures the rest"
        sys.stderr.write(f"what was measured is in {folder}/: `wirebench results {folder}` shows it{rest}\n")
    elif is_interrupted:
        sys.stderr.write("nothing had been measured, and nothing is left\n")
