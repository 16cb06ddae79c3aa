"""Resuming an incomplete run: whether it can be, what is left to measure, and its run.json."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path

from wirebench.analysis.differences import find_differences
from wirebench.errors import UsageError, pluralise
from wirebench.model.run_info import APPLICATION_FILE, TIMING_FILE, Run, RunInfo
from wirebench.model.scenario import Scenario
from wirebench.model.source import parse_yaml
from wirebench.plan.load import check_scenario
from wirebench.plan.plan import Plan
from wirebench.run.target_options import TargetOptions, plan_for_target

_RUN_AGAIN = "`wirebench run` measures its scenario again"


def check_resumable(run: Run) -> None:
    """Raise UsageError for a run that is complete or running, or that more records must not be added to."""
    info = run.info
    if info.status == "complete":
        raise UsageError(f"run {info.id} is complete", "`wirebench list` shows which are incomplete")
    if info.status == "running":
        raise UsageError(f"run {info.id} is still running", f"wait for its end, or interrupt its process, {info.pid}")
    if run.folder.resolve().name != info.id:
        raise UsageError(f"{run.folder} contains the run {info.id}", "rename the folder as the run")
    if info.conformance_mismatches:
        raise UsageError(
            f"run {info.id} ended because the services didn't answer alike: corrected, they are different services",
            _RUN_AGAIN,
        )


def plan_rest(run: Run, target: TargetOptions, application_file: Path | None = None) -> Plan:
    """Return the plan of a run with its records marked as done. Raises UsageError if they don't match the plan."""
    plan = plan_for_target(_read_scenario(run, application_file), target, run.info.seed, run.info.versions)
    application = plan.scenario.application
    if application.variants:
        path = run.folder / APPLICATION_FILE
        try:
            measured = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"can't read {path}: {error}", _RUN_AGAIN) from None
        if measured != application.source.text.strip():
            raise UsageError(
                f"run {run.info.id}: {application.path} has changed since",
                f"the rest would measure something else; {_RUN_AGAIN}",
            )
    planned = {(each.id, each.order): each.cell.factors for block in plan.blocks for each in block}
    differs = [each.id for each in run.records if planned.get((each.id, each.order)) != each.factors]
    if differs or plan.cells_total != run.info.cells * run.info.blocks:
        wrong = f"its record {differs[0]} isn't in" if differs else "its number of windows isn't that of"
        raise UsageError(
            f"run {run.info.id}: {wrong} the plan of its scenario and seed",
            f"use the version that created the run; {_RUN_AGAIN}",
        )
    return dataclasses.replace(plan, done=frozenset(record.id for record in run.records))


def _read_scenario(run: Run, application_file: Path | None) -> Scenario:
    """Read a run's scenario, with its timing file and with the application file that is here. Raises UsageError."""
    known = application_file or (Path(run.info.application) if run.info.application else None)
    path = run.folder / f"{run.info.scenario}.yaml"
    name = f"{run.folder / 'run.json'}: scenario_text"
    try:
        data, source = parse_yaml(run.info.scenario_text, path, name, "a scenario")
        return check_scenario(data, source, run.folder / TIMING_FILE, known)
    except UsageError as error:
        hint = "name its application file: --application FILE" if known else "use the version that created the run"
        raise UsageError(error.message, hint, error.details) from None


def resume_info(run: Run, now: RunInfo) -> RunInfo:
    """Return the run.json of a resumed run; `now` is that of a new one.

    Raises UsageError if target, machine, versions or commit differ.
    """
    found = find_differences(run, dataclasses.replace(run, info=now.model_copy(update={"status": run.info.status})))
    if found:
        lines = [f"{each.name}: {each.base} then, {each.head} now" for each in found]
        others = f", and {pluralise(len(found) - 1, 'thing')} more" if len(found) > 1 else ""
        raise UsageError(
            f"run {run.info.id} was measured on or with something else ({lines[0]}{others})",
            f"their figures can't be compared in one run; {_RUN_AGAIN}",
            "\n".join(lines) if len(found) > 1 else "",
        )
    return run.info.model_copy(
        update={
            "status": "running",
            "reason": "",
            "calibrate": now.calibrate,
            "pid": now.pid,
            "process_began_unix_s": now.process_began_unix_s,
            "resumed_at": (*run.info.resumed_at, datetime.now(UTC).replace(microsecond=0)),
            "notes": tuple(dict.fromkeys((*run.info.notes, *now.notes))),
        }
    )
