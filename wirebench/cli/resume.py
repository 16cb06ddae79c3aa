"""`wirebench resume`: measure what an incomplete run has left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.cli import options as common
from wirebench.errors import UsageError, WirebenchError
from wirebench.system.paths import DEFAULT_FOLDER, LAST

if TYPE_CHECKING:
    from wirebench.model.run_info import Run


def resume(  # noqa: PLR0913 - one parameter an option
    run: common.RunArgument = LAST,
    *,
    application: common.ApplicationFile = None,
    cluster: common.Cluster,
    addresses: common.Addresses,
    tls_files: common.TlsOptions,
    prometheus: common.Prometheus = None,
    out: common.Out = DEFAULT_FOLDER,
    calibrate: common.Calibrate = None,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Continue an interrupted run.

    Machine, versions and target must be those of the run. Its records stay as they are. Options name the
    addresses of its target again.
    """
    from wirebench.cli.measure import PlannedRun, measure_and_show
    from wirebench.cli.target import make_target_options
    from wirebench.run.resumption import check_resumable, plan_rest

    verbosity.apply()
    found = _find_run(run, out)
    check_resumable(found)
    target = make_target_options(
        found.info.target,
        addresses.by_transport,
        tls_files.load(),
        cluster,
        has_variants=found.info.application is not None,
        prometheus=prometheus,
    )
    plan = plan_rest(found, target, application)
    is_named = found.folder.name == found.info.id  # neither `.` nor a link
    parent = found.folder.parent if is_named else found.folder.resolve().parent
    measurement = PlannedRun(plan, target, parent, found.info.id, resumed=found, calibrate=calibrate)
    measure_and_show(measurement, json=json)


def _find_run(name: str, out: Path) -> Run:
    """Read a run. Raises UsageError, also for a run that can't be read."""
    from wirebench.cli.output import warn_of_damaged
    from wirebench.store.runs import find_run

    try:
        return find_run(name, out, warn_of_damaged)
    except UsageError:
        raise
    except WirebenchError as error:
        hint = "it is damaged, or of another version: measure its scenario again by `wirebench run`"
        raise UsageError(error.message, hint) from None
