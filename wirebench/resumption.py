"""Whether a run that was stopped may go on, what of it is left, and what is then said of it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

from wirebench.errors import UsageError
from wirebench.runner import Spent
from wirebench.scenario import Load, Plan
from wirebench.stats.differences import Difference, differences
from wirebench.stats.names import counted
from wirebench.stats.parts import parts
from wirebench.store import Run, RunInfo


def refuse_finished(run: Run) -> None:
    """Raise UsageError for a run that has nothing to go on with, or whose figures nothing may be added to."""
    info = run.info
    if info.status == "complete":
        raise UsageError(f"run {info.id} is complete", "`wirebench list` shows which are incomplete")
    if info.status == "running":
        raise UsageError(f"run {info.id} is still going on", f"wait for its end, or interrupt its process, {info.pid}")
    if run.folder.resolve().name != info.id:
        raise UsageError(f"{run.folder}: it is the run {info.id}, in a folder of another name", "name it as the run")
    if info.conformance_mismatches:
        raise UsageError(
            f"run {info.id} ended because the services didn't answer alike: corrected, they are others",
            _anew(run),
        )


def rest_of(plan: Plan, run: Run) -> Plan:
    """Return the plan of a run with what has been measured taken for done.

    Raises UsageError if the records aren't what the plan would have come to.
    """
    planned = {(each.id, each.order): each.cell.factors for block in plan.blocks for each in block}
    for record in run.records:
        if planned.get((record.id, record.order)) != record.factors:
            raise UsageError(
                f"run {run.info.id}: its record {record.id} isn't what its scenario and seed plan",
                f"it takes the wirebench that measured it; {_anew(run)}",
            )
    if plan.cells_total != run.info.cells * run.info.blocks:
        raise UsageError(
            f"run {run.info.id}: its scenario plans {counted(plan.cells_total, 'window')}, and it says otherwise",
            f"it takes the wirebench that measured it; {_anew(run)}",
        )
    return dataclasses.replace(plan, done=frozenset(record.id for record in run.records))


def going_on(run: Run, now: RunInfo) -> RunInfo:
    """Return what is said of a run that goes on, of what would be said of one that began `now`.

    Raises UsageError if anything is another than it was: target, machine, versions or commit.
    """
    found = differences(run, dataclasses.replace(run, info=now.model_copy(update={"status": run.info.status})))
    if found:
        others = f", and {counted(len(found) - 1, 'thing')} more" if len(found) > 1 else ""
        raise UsageError(
            f"run {run.info.id} was measured on or with something else ({_told(found[0])}{others})",
            f"such figures must not share a run; {_anew(run)}",
            "\n".join(map(_told, found)) if len(found) > 1 else "",
        )
    return run.info.model_copy(
        update={
            "status": "running",
            "reason": "",
            "pid": now.pid,
            "process_began_unix_s": now.process_began_unix_s,
            "resumed_at": (*run.info.resumed_at, datetime.now(UTC).replace(microsecond=0)),
            "notes": tuple(dict.fromkeys((*run.info.notes, *now.notes))),
            # Until it ends nobody knows; should it be killed, its records tell as much as they do.
            "duration_s": None,
            "measured_s": None,
            "services_start_s": None,
        }
    )


def spent(run: Run, load: Load) -> Spent:
    """Return what the parts of a run have taken; of one that was killed, up to the end of its last window."""
    duration_s = run.info.duration_s
    if duration_s is None:
        duration_s = sum((part.last_window - part.began).total_seconds() for part in parts(run))
    return Spent(
        duration_s=duration_s,
        measured_s=sum(load.warmup_s + record.window_s for record in run.records),
        services_start_s=run.info.services_start_s,
    )


def _told(found: Difference) -> str:
    return f"{found.name}: {found.base} then, {found.head} now"


def _anew(run: Run) -> str:
    return f"`wirebench reproduce {run.folder}` measures all of it anew"
