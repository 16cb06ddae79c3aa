"""Replays: when their requests are due."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.jobs import cell
from tests.support.scenario_text import REPLAY, read
from wirebench.model.recording import Recording
from wirebench.model.scenario import Load
from wirebench.plan.plan import make_plan

SECOND_NS = 1_000_000_000
#: Five requests at one a second, but that the last but one comes late.
RECORDING = Recording((0, SECOND_NS, 2 * SECOND_NS, 3_500_000_000, 4 * SECOND_NS))


def test_a_replay_keeps_every_moment_at_its_speed() -> None:
    """Ten times as fast, a request after two seconds is due after 200 ms; what is due beyond the window isn't sent."""
    load = Load(model="replay", timing="x", speedup=10, window_s=0.5, recording=RECORDING)
    assert [0, 100_000_000, 200_000_000, 350_000_000, 400_000_000] == load.list_window_arrivals_ns()
    assert 10 == load.compute_rate_asked_per_s(replace(cell("rest", "wireload"), shape="replay"))


def test_before_the_window_there_is_an_even_load() -> None:
    """The warm-up has the recording's mean rate."""
    load = Load(model="replay", timing="x", warmup_s=3, window_s=5, recording=RECORDING)
    assert [0, 1, 2, 3, 4, 5, 6.5, 7] == [due / SECOND_NS for due in load.list_arrivals_ns()]


def test_a_replay_fills_its_window(tmp_path: Path) -> None:
    """Its window is as long as the recording at its speed, and each cell says that it replays."""
    (tmp_path / "timing.json").write_text("[0, 0.25, 0.5, 0.75]", encoding="utf-8")
    load = read(tmp_path, REPLAY).load
    assert (1.0, 4) == (load.window_s, load.recording and load.recording.count)
    plan = make_plan(read(tmp_path, REPLAY.replace("timing.json", "timing.json, speedup: 0.5, window_s: 0.8")), seed=1)
    load = plan.scenario.load
    assert (0.8, 2) == (load.window_s, load.recording and load.recording.count)
    assert {"replay"} == {each.shape for each in plan.cells}
    assert all("-replay-c8" in each.id for each in plan.cells)
