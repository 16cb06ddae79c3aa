"""Replays: when their requests are due, and what is rejected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support import scenario_text
from tests.support.histogram_files import make_histogram_file
from tests.support.jobs import cell
from wirebench.drivers import Job
from wirebench.measure.figures import compute_slices
from wirebench.model.cell import Cell
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile, Slices, merge_parallel
from wirebench.model.recording import Recording
from wirebench.model.scenario import Load
from wirebench.plan.plan import make_plan
from wirebench.plan.validation import RECORDED_IN_CLUSTER_MAX
from wirebench.run.load_pod.task import MeasureTask, read_task

SECOND_NS = 1_000_000_000
#: Five requests at one a second, but that the last but one comes late.
RECORDING = Recording((0, SECOND_NS, 2 * SECOND_NS, 3_500_000_000, 4 * SECOND_NS))
REPLAY = """\
question: Who waits?
factors: {transport: [rest, socket], concurrency: 8}
load: {model: replay, timing: timing.json}
"""


def replay_cell() -> Cell:
    """Return a cell of a replay."""
    return replace(cell("rest", "wireload"), shape="replay")


def test_a_replay_keeps_every_moment_at_its_speed() -> None:
    """Ten times as fast, a request after two seconds is due after 200 ms; what is due beyond the window isn't sent."""
    load = Load(model="replay", timing="x", speedup=10, window_s=0.5).replay(RECORDING)
    assert [0, 100_000_000, 200_000_000, 350_000_000, 400_000_000] == load.list_window_arrivals_ns()
    assert 10 == load.compute_rate_asked_per_s(replay_cell())


def test_before_the_window_there_is_an_even_load() -> None:
    """Of a recording's mean rate."""
    load = Load(model="replay", timing="x", warmup_s=3, window_s=5).replay(RECORDING)
    assert [0, 1, 2, 3, 4, 5, 6.5, 7] == [due / SECOND_NS for due in load.list_arrivals_ns()]


def test_a_steady_load_has_no_list() -> None:
    """An open one has its rate, and a closed one none."""
    assert [] == Load(model="open").list_arrivals_ns()
    assert 100 == Load(model="open").compute_rate_asked_per_s(cell("rest", "wireload", rate_per_s=100))
    assert Load().compute_rate_asked_per_s(cell("rest", "wireload")) is None


def test_a_recording_goes_to_load_pods_with_its_task(tmp_path: Path) -> None:
    """All of them share the same list."""
    load = Load(model="replay", timing="x", window_s=5).replay(RECORDING)
    job = Job(replay_cell(), load, "rest:5000", 1, 2, tmp_path / "out.json", tmp_path / "log", None)
    task = MeasureTask(job=job, replicas=(), recording=load.recording, cores=1.0)
    (tmp_path / "load.json").write_text(task.model_dump_json(), encoding="utf-8")
    read = read_task(tmp_path / "load.json")
    assert isinstance(read, MeasureTask)
    assert load == read.job.load.replay(read.recording)


def histograms(*latencies_ms: list[int]) -> Slices:
    """Return slices of these latencies."""
    texts = (Histogram.of_values(np.array(each) * 1_000_000).encode() if each else "" for each in latencies_ms)
    return Slices(operation="users.get", histograms=tuple(texts))


def with_slices(*latencies_ms: list[int]) -> HistogramFile:
    """Return a generator's file with slices of these latencies."""
    return make_histogram_file(100, [1], (1,)).model_copy(update={"slices": (histograms(*latencies_ms),)})


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
    assert first.p50_ms is not None
    assert 10 == pytest.approx(first.p50_ms, rel=0.001)
    assert (2.5, 5.0, 0.8, 0, None, None) == (
        second.start_s, second.end_s, second.rate_asked_per_s, second.requests_ok, second.p50_ms, second.max_ms,
    )  # fmt: skip
    assert () == compute_slices(with_slices([5]), Load())


@pytest.fixture(autouse=True)
def timing(tmp_path: Path) -> Path:
    """Write a timing file."""
    path = tmp_path / "timing.json"
    path.write_text("[0, 0.25, 0.5, 0.75]", encoding="utf-8")
    return path


def test_a_replay_fills_its_window(tmp_path: Path) -> None:
    """Its window is as long as the recording at its speed, and each cell says that it replays."""
    load = scenario_text.read(tmp_path, REPLAY).load
    assert (1.0, 4) == (load.window_s, load.recording and load.recording.count)
    faster = REPLAY.replace("timing.json", "timing.json, speedup: 0.5, window_s: 0.8")
    plan = make_plan(scenario_text.read(tmp_path, faster), seed=1)
    load = plan.scenario.load
    assert (0.8, 2) == (load.window_s, load.recording and load.recording.count)
    assert {"replay"} == {each.shape for each in plan.cells}
    assert all("-replay-c8" in each.id for each in plan.cells)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        (REPLAY, "timing.json", "gone.json", "3: load.timing: {folder}/gone.json: No such file"),
        (REPLAY, ", timing: timing.json", "", "3: load.model: a replay needs load.timing"),
        (REPLAY, "replay", "open", "3: load.model: an open load needs factors.rate_per_s"),
        (REPLAY, "replay", "closed", "3: load.timing: a closed load has no timing"),
        (REPLAY, "concurrency: 8", "rate_per_s: 9", "2: factors.rate_per_s: a replay has no rate_per_s of its own"),
        (REPLAY, "timing.json", "timing.json, speedup: 3", "3: load.timing: a window of 0.333 s is not"),
        (REPLAY, "timing.json", "timing.json, speedup: 0.0001", "3: load.timing: a window of 10,000.000 s is not"),
        (REPLAY, "timing.json", "timing.json, window_s: 2", "3: load.timing: a window of 2.000 s is not"),
        (REPLAY, "[rest, socket]", "grpc, driver: ghz", "3: load.model: shape replay needs driver wireload"),
        (REPLAY, "timing.json", "timing.json, from_rate_per_s: 1", "3: load.from_rate_per_s: a replay has no"),
        (REPLAY, "timing.json", "timing.json, objective: {p99_ms: 9}", "3: load.objective: a replay has no objective"),
    ],
)
def test_what_can_not_be_is_rejected(tmp_path: Path, text: str, old: str, new: str, expected: str) -> None:
    """With the line and the key, before anything is started."""
    scenario_text.reject(tmp_path, text.replace(old, new), expected.format(folder=tmp_path))


def test_a_mistake_in_a_timing_file_is_named_with_the_scenarios_line(tmp_path: Path, timing: Path) -> None:
    """Where it is asked for, and which entry is wrong."""
    timing.write_text("[2, 1]", encoding="utf-8")
    assert "sort" in scenario_text.reject(tmp_path, REPLAY, f"3: load.timing: {timing}: entry 2: is earlier")


def test_a_recording_that_no_task_holds_is_rejected_in_a_cluster(tmp_path: Path, timing: Path) -> None:
    """A part of it isn't."""
    entries = [each / 10_000 for each in range(RECORDED_IN_CLUSTER_MAX + 1)]
    timing.write_text(json.dumps(entries), encoding="utf-8")
    assert make_plan(scenario_text.read(tmp_path, REPLAY), 1, "local").cells
    expected = "3: load.timing: 30,001 requests are more than load pods take"
    scenario_text.reject(tmp_path, REPLAY, expected, "kubernetes")
    part = REPLAY.replace("timing.json", "timing.json, window_s: 1")
    assert make_plan(scenario_text.read(tmp_path, part), 1, "kubernetes").cells
