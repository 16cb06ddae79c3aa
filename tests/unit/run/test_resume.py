"""`wirebench resume`: what can be resumed, what of it is left, and what is then said of the run."""

from __future__ import annotations

import dataclasses
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support import scenario_text
from tests.support.command_line import reject, render_run, wirebench
from tests.support.report_run import RunBuilder
from wirebench.errors import UsageError
from wirebench.model.run_info import Run
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, make_plan
from wirebench.run.progress import TimeLeft
from wirebench.run.resumption import plan_rest, resume_info
from wirebench.run.target_options import TargetOptions
from wirebench.store.runs import load_run
from wirebench.web.report import write_report

TEXT = """\
question: Which is faster?
factors: {transport: [rest, grpc, socket], concurrency: 4}
load: {warmup_s: 1, window_s: 5}
blocks: 3
"""
SEED = 11
STARTED = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
WINDOWS = 4
STOPPED = {"status": "incomplete", "reason": "it was interrupted (SIGINT)"}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Return the plan of a scenario: three blocks of three cells."""
    path = tmp_path / "quick.yaml"
    path.write_text(TEXT)
    return make_plan(read_scenario(path), SEED)


def stopped(folder: Path, plan: Plan, **info: Any) -> Run:  # noqa: ANN401
    """Return a run of which four windows are there."""
    said = {"question": "Which is faster?", "scenario_text": TEXT, "seed": SEED, "notes": ("as noted",)} | STOPPED
    built = RunBuilder(cells=plan.cells, blocks=3, samples=100, info=said | info).write(folder)
    records = {record.id: record for record in built.records}
    for number, planned in enumerate(each for block in plan.blocks for each in block):
        path = built.folder / "records" / f"{planned.id}.json"
        if number < WINDOWS:
            path.write_text(records[planned.id].model_copy(update={"order": planned.order}).model_dump_json())
        else:
            path.unlink()
            (built.folder / "histograms" / path.name).unlink()
    return load_run(built.folder)


def files(folder: Path) -> dict[Path, bytes]:
    """Return all files of a folder with what is in them."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"status": "complete"}, "20261121T101500Z-quick is complete"),
        ({"status": "running", "pid": os.getpid()}, "20261121T101500Z-quick is still running"),
        ({"conformance_mismatches": ("rest: 200, grpc: 404",)}, "ended because the services didn't answer alike"),
        ({"seed": SEED + 1}, "isn't in the plan of its scenario and seed"),
        ({"cells": 2}, "its number of windows isn't that of the plan"),
        ({"scenario_text": "question: [\n"}, "not valid YAML"),
        ({"target": "external"}, "no address is given"),
        ({}, "was measured on or with something else (cpu: Some CPU"),
    ],
)
def test_what_cannot_be_resumed_is_rejected_before_it_is_touched(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, info: dict[str, Any], expected: str
) -> None:
    """There is one line with a next step and status 2, and the run is as it was."""
    monkeypatch.setattr("wirebench.run.runner.prepare", lambda *_: None)
    run = stopped(tmp_path / "results", plan, **info)
    before = files(run.folder)
    assert expected in reject("resume", run.folder)
    assert before == files(run.folder)


def test_what_is_left_is_what_has_no_record(tmp_path: Path, plan: Plan) -> None:
    """It is measured in the planned order; a block that is done has nothing left."""
    rest = plan_rest(stopped(tmp_path, plan), TargetOptions())
    assert [0, 2, 3] == [len(rest.list_cells_left(block)) for block in rest.blocks]
    assert plan.blocks[1][1:] == rest.list_cells_left(rest.blocks[1])
    assert (9, 5 * 6.0) == (rest.cells_total, rest.measured_s)


def test_a_run_that_goes_on_says_so(tmp_path: Path, plan: Plan) -> None:
    """It has the process of this time, and each note once."""
    run = stopped(tmp_path, plan)
    now = run.info.model_copy(update={"pid": 17, "notes": ("as noted", "busy"), "id": "another", "resumed_at": ()})
    info = resume_info(run, now)
    assert ("running", "", run.info.id, run.info.duration_s) == (info.status, info.reason, info.id, info.duration_s)
    assert (17, ("as noted", "busy")) == (info.pid, info.notes)
    (resumed_at,) = info.resumed_at
    assert timedelta(0) <= datetime.now(UTC) - resumed_at < timedelta(seconds=30)
    again = resume_info(dataclasses.replace(run, info=info.model_copy(update=STOPPED)), now)
    assert (resumed_at, 2) == (again.resumed_at[0], len(again.resumed_at))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"commit": "another"}, "commit: 0123456789abcdef0123456789abcdef01234567 then, another now"),
        ({"versions": {"wirebench": "0.1.0", "wireload": "9.0.0"}}, "wireload: 0.1.0 then, 9.0.0 now, and 2 things"),
        ({"machine": {"cpu": "Some CPU @ 2.50GHz", "cores": "64"}}, "cores: 2 cores then, 64 cores now"),
    ],
)
def test_what_was_measured_otherwise_shares_no_run(
    tmp_path: Path, plan: Plan, changes: dict[str, Any], expected: str
) -> None:
    """Figures of another machine, version or commit belong to another run."""
    run = stopped(tmp_path, plan)
    with pytest.raises(UsageError) as caught:
        resume_info(run, run.info.model_copy(update=changes))
    assert expected in caught.value.message
    assert "`wirebench run` measures its scenario again" in caught.value.hint


def test_an_incomplete_run_names_the_next_step_and_its_pause(tmp_path: Path, plan: Plan) -> None:
    """The terminal and the report show both."""
    run = stopped(tmp_path, plan, resumed_at=(STARTED + timedelta(seconds=3600),))
    pause = "it was stopped, and resumed at 2026-11-21 11:15 UTC: a block in two parts adds noise to its ratios"
    for shown in (render_run(run), write_report(run).read_text()):
        assert pause in shown
        assert f"wirebench resume {run.info.id}" in shown
    assert "`wirebench resume RUN` measures what an incomplete run has left." in wirebench("list", "--out", tmp_path)[1]


def test_the_time_left_is_that_of_the_cells_to_come(tmp_path: Path) -> None:
    """The first takes as long as expected, those to come as long as the ones before, on average."""
    now_s = 1000.0
    text = "question: x\nfactors: {transport: rest}\nload: {warmup_s: 0.5, window_s: 1}\nblocks: 7\n"
    seven = make_plan(scenario_text.read(tmp_path, text), seed=1)
    left = TimeLeft(dataclasses.replace(seven, done=frozenset("012")), lambda: now_s)
    assert 8.0 == left.compute_s()
    now_s += 1.5
    assert 6.5 == left.compute_s()
    now_s += 1.5
    left.count_done(4)
    assert 6.0 == left.compute_s()
    now_s += 600.0
    assert 4.0 == left.compute_s(), "a cell that takes long leaves the time of those to come"
    left.count_done(7)
    assert 0.0 == left.compute_s()
