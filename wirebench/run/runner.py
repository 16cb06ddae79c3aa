"""Run a plan, from its checks to its records."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.model.run_info import APPLICATION_FILE, Run
from wirebench.plan.plan import Plan
from wirebench.run.execution import Execution
from wirebench.run.preparation import create_info, prepare
from wirebench.run.progress import Progress
from wirebench.run.resumption import resume_info
from wirebench.run.target_options import TargetOptions
from wirebench.store.runs import RunWriter, check_folder, load_run, make_run_id
from wirebench.system.paths import DEFAULT_FOLDER


def execute(  # noqa: PLR0913 - options, each with a default
    plan: Plan,
    target: TargetOptions | None = None,
    out: Path = DEFAULT_FOLDER,
    *,
    resumed: Run | None = None,
    calibrate: bool | None = None,
    keep_application: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Run a plan, and return the complete run. Its folder is in `out`.

    `resumed` is the run to continue, whose plan `plan_rest` returns. If `calibrate` is false (by default as in the
    resumed run, otherwise true), records have no instrument error. With `keep_application`, run.json names the run's
    own copy of the application file.

    However it ends, nothing stays running, and what was measured is on disk. Raises UsageError if nothing was started,
    WirebenchError, and Interrupted or KeyboardInterrupt.
    """
    options, progress = target or TargetOptions(plan.target), progress or Progress()
    if options.kind != plan.target:
        raise UsageError(f"the plan is for the target {plan.target}, not {options.kind}", "use plan_for_target")
    if calibrate is None:
        calibrate = resumed is None or resumed.info.calibrate
    check_folder(out)
    name = resumed.info.id if resumed else make_run_id(plan.scenario.source.path.stem)
    place = options.make_target(plan.scenario, name, out)
    with ExitStack() as ending:  # its callbacks run from the last to the first, also if one fails
        ending.callback(place.clean_up)
        ids = prepare(plan, place)
        program = ["wirebench"] if Path(sys.argv[0]).name in ("wirebench", "__main__.py") else ["python", sys.argv[0]]
        command = shlex.join([*program, *sys.argv[1:]])
        info = create_info(plan, place, name, command, calibrate=calibrate)
        if keep_application:
            info = info.model_copy(update={"application": str((out / name / APPLICATION_FILE).absolute())})
        writer = RunWriter(out, resume_info(resumed, info) if resumed else info, found=resumed, begins=False)
        execution = Execution(plan, place, ids, writer, progress)
        ending.push(execution.end)
        ending.callback(place.stop)
        ending.callback(progress.end)
        progress.begin(writer.info, writer.folder, place.cores)
        execution.run()
    return load_run(writer.folder)
