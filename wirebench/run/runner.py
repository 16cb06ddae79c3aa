"""Run a plan, from its checks to its records."""

from __future__ import annotations

import contextlib
import shlex
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.run_info import RunInfo
from wirebench.plan.plan import Plan
from wirebench.results.runs import (
    APPLICATION_FILE,
    DEFAULT_FOLDER,
    TIMING_FILE,
    Run,
    RunWriter,
    load_run,
    make_run_id,
)
from wirebench.run import preparation, resumption
from wirebench.run.execution import TimeSpent, measure_plan
from wirebench.run.progress import NoProgress, Progress
from wirebench.run.target_options import TargetOptions
from wirebench.targets import Cores, Target


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run whose folder exists, and of which nothing has been started yet."""

    plan: Plan
    info: RunInfo
    folder: Path
    #: None where the target doesn't know them.
    cores: Cores | None


#: Shows the progress of a run while a `with` block runs.
ShowProgress = Callable[[RunStart], AbstractContextManager[Progress]]


def warn_of_index(error: WirebenchError) -> None:
    """Issue a Python warning: the run isn't in the index."""
    warnings.warn(f"{error.message}; the run isn't in the index", stacklevel=2)


def execute(  # noqa: PLR0913 - options, each with a default
    plan: Plan,
    target: TargetOptions | None = None,
    out: Path = DEFAULT_FOLDER,
    *,
    name: str = "",
    command: str = "",
    resumed: Run | None = None,
    calibrate: bool | None = None,
    keep_application: bool = False,
    show_progress: ShowProgress = lambda _: contextlib.nullcontext(NoProgress()),
    on_index_error: Callable[[WirebenchError], None] = warn_of_index,
) -> Run:
    """Run a plan, and return the complete run. Its folder is in `out`.

    `name` is the name of the run (by default its start and its scenario), `command` the command line that it records
    (by default that of this process); `resumed` is the run to continue, whose plan `plan_rest` returns. If `calibrate`
    is false (by default as in the resumed run, otherwise true), records have no instrument error. With
    `keep_application`, run.json names the run's own copy of the application file.

    However it ends, nothing stays running, and what was measured is on disk. Raises UsageError if nothing was started,
    WirebenchError, and Interrupted or KeyboardInterrupt.
    """
    options = target or TargetOptions(plan.target)
    if options.kind != plan.target:
        raise UsageError(f"the plan is for the target {plan.target}, not {options.kind}", "use plan_for_target")
    if calibrate is None:
        calibrate = resumed is None or resumed.info.calibrate
    name = resumed.info.id if resumed else name or make_run_id(plan.scenario.source.path.stem)
    place = options.make_target(plan.scenario, name, out)
    try:
        preparation.prepare(plan, place)
        command = command or shlex.join(["python", *sys.argv])
        info = preparation.create_info(plan, place, name, command, calibrate=calibrate)
        if keep_application:
            info = info.model_copy(update={"application": str((out / name / APPLICATION_FILE).absolute())})
        writer = _create_writer(plan, info, out, resumed)
    except BaseException:
        place.clean_up()
        raise
    try:
        _measure(plan, place, writer, resumed, show_progress)
    finally:
        update_index(writer.folder, on_index_error)
    return load_run(writer.folder)


def update_index(folder: Path, on_error: Callable[[WirebenchError], None]) -> None:
    """Put a run into the index; its failures never reach the run."""
    from wirebench.results.index import Index, find_database_url

    if not folder.is_dir():  # nothing of it was worth keeping
        return
    try:
        with Index(find_database_url(folder.parent)) as index:
            index.catch_up_run(folder)
    except WirebenchError as error:
        on_error(error)


def _create_writer(plan: Plan, info: RunInfo, out: Path, resumed: Run | None) -> RunWriter:
    """Create the run's folder with all that the run depends on, or continue with that of a resumed run."""
    if resumed:
        return RunWriter(out, resumption.resume_info(resumed, info), found=resumed)
    writer = RunWriter(out, info)
    if timing := plan.scenario.load.timing_path:
        writer.keep(timing, TIMING_FILE)
    if plan.scenario.variants:
        writer.write(APPLICATION_FILE, plan.scenario.application.text)
    return writer


def _measure(plan: Plan, place: Target, writer: RunWriter, resumed: Run | None, show_progress: ShowProgress) -> None:
    before = resumption.compute_time_spent(resumed, plan.scenario.load) if resumed else TimeSpent()
    try:
        with show_progress(RunStart(plan, writer.info, writer.folder, place.cores)) as progress:
            measure_plan(plan, place, writer, progress, before)
    finally:
        if writer.info.status == "running":  # it ended before measure_plan could start anything
            place.clean_up()
            if writer.folder.exists():
                writer.update(status="incomplete", reason="it ended before its first window")
                if not writer.is_worth_keeping(logs_count=False):
                    writer.discard()
