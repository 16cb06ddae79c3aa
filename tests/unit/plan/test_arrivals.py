"""Replays: when their requests are due, and what is measured over their time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.histogram_files import make_histogram_file
from tests.support.jobs import cell
from tests.support.scenario_text import REPLAY, read
from wirebench.measure.figures import compute_slices
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile, Slices, merge_parallel
from wirebench.model.recording import Recording
from wirebench.model.scenario import Load
from wirebench.plan.plan import make_plan

SECOND_NS = 1_000_000_000
#: Five requests at one a second, but that the last but one comes late.
RECORDING = Recording((0, SECOND_NS, 2 * SECOND_NS, 3_500_000_000, 4 * SECOND_NS))


def test_a_replay_keeps_every_moment_at_its_speed() -> None:
    """Ten times as fast, a request after two seconds is due after 200 ms; what is due beyond the window isn't sent."""
    load = Load(model="replay", timing="x", speedup=10, window_s=0.5).replay(RECORDING)
    assert [0, 100_000_000, 200_000_000, 350_000_000, 400_000_000] == load.list_window_arrivals_ns()
    assert 10 == load.compute_rate_asked_per_s(replace(cell("rest", "wireload"), shape="replay"))


def test_before_the_window_there_is_an_even_load() -> None:
    """The warm-up has the recording's mean rate."""
    load = Load(model="replay", timing="x", warmup_s=3, window_s=5).replay(RECORDING)
    assert [0, 1, 2, 3, 4, 5, 6.5, 7] == [due / SECOND_NS for due in load.list_arrivals_ns()]


def with_slices(*latencies_ms: list[int]) -> HistogramFile:
    """Return a generator's file with slices of these latencies."""
    texts = (Histogram.of_values(np.array(each) * 1_000_000).encode() if each else "" for each in latencies_ms)
    slices = Slices(operation="users.get", histograms=tuple(texts))
    return make_histogram_file(100, [1], (1,)).model_copy(update={"slices": (slices,)})


def test_slices_of_generators_merge_exactly() -> None:
    """Slice by slice; two that have nothing in one come to nothing there."""
    merged = merge_parallel([with_slices([1, 2], [], []), with_slices([3], [], [4])])
    assert [3, 0, 1] == [each.count for each in merged.over_time]
    assert [1, 2, 3] == [round(each / 1e6) for each in merged.over_time[0].compute_quantiles_ns(0.1, 0.5, 1)]


def test_figures_over_time_hold_what_was_asked_and_how_long_it_took() -> None:
    """A slice in which nothing was answered has no latency."""
    load = Load(model="replay", timing="x", window_s=5).replay(RECORDING)
    first, second = compute_slices(with_slices([5, 10, 20], []), load)
    assert (0.0, 2.5, 1.2, 3) == (first.start_s, first.end_s, first.rate_asked_per_s, first.requests_ok)
    assert pytest.approx(10, rel=0.001) == first.p50_ms
    assert (2.5, 5.0, 0.8, 0) == (second.start_s, second.end_s, second.rate_asked_per_s, second.requests_ok)
    assert (None, None) == (second.p50_ms, second.max_ms)
    assert () == compute_slices(with_slices([5]), Load())


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
