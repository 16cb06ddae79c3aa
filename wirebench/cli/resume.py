"""`wirebench resume`: measure what an incomplete run has left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from wirebench.cli import options as common
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.contract import TargetName
from wirebench.system.paths import DEFAULT_FOLDER, LAST


def resume(  # noqa: PLR0913 - one parameter an option
    run: common.RunArgument = LAST,
    *,
    application: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Application file of its variants; default: as it was.")
    ] = None,
    cluster: common.Cluster,
    services: common.Services,
    prometheus: common.Prometheus = None,
    out: common.Out = DEFAULT_FOLDER,
    calibrate: common.Calibrate = None,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Continue an interrupted run.

    Machine, versions and target must be those of the run, whose records stay. Options name addresses again.

    wirebench resume
    wirebench resume last~1 --rest http://127.0.0.1:5000
    """
    from wirebench.cli.measure import measure, show_and_report
    from wirebench.cli.target import make_target_options
    from wirebench.run.resumption import check_resumable, plan_rest
    from wirebench.store.runs import find_run

    verbosity.apply()
    try:
        found = find_run(run, out, prefers_complete=False)
    except UsageError:
        raise
    except WirebenchError as error:
        hint = "it is damaged, or of another version: measure its scenario again by `wirebench run`"
        raise UsageError(error.message, hint) from None
    check_resumable(found)
    kind, has_variants = cast("TargetName", found.info.target), found.info.application is not None
    target = make_target_options(kind, services, cluster, prometheus, has_variants=has_variants)
    plan = plan_rest(found, target, application)
    show_and_report(
        *measure(plan, target, found.folder.resolve().parent, resumed=found, calibrate=calibrate), json=json
    )
