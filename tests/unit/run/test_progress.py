"""How a run goes: the time left, and the file in its folder that says so while it does."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.model.record import Record
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, PlannedCell, make_plan
from wirebench.results.progress import HISTORY_MAX, RunProgress, read_progress, write_progress
from wirebench.run import progress as progress_module
from wirebench.run.progress import ProgressFile, ProgressListeners, TimeLeft
from wirebench.system.paths import SCENARIOS


@pytest.fixture
def plan() -> Plan:
    """Return the plan of the quick scenario: four blocks."""
    return make_plan(read_scenario(SCENARIOS / "quick.yaml"), seed=1)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a record of a request load."""
    return RunBuilder(cells=[cell("rest")], blocks=1, samples=100).write(tmp_path / "finished").records[0]


@pytest.fixture
def file(tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProgressFile]:
    """Return what writes the file, far more often than once a second."""
    monkeypatch.setattr(progress_module, "_INTERVAL_S", 0.005)
    with ProgressFile(tmp_path, plan, TimeLeft(56, 2.0)) as made:
        yield made


def until(folder: Path, holds: Callable[[RunProgress], bool]) -> RunProgress:
    """Return what the file says as soon as this holds."""

    def find() -> RunProgress | None:
        read = read_progress(folder)
        return read if read and holds(read) else None

    return wait_until(find, "it says so", lambda: read_progress(folder))


def tell(path: Path, seconds: int, **changes: object) -> None:
    """Write a snapshot as k6 does."""
    state = {
        "schema": "wirebench.snapshot/1",
        "seconds": seconds,
        "successful": 100 * seconds,
        "failed": 1,
        "latency": {"clock": "service", "p50_ns": 1_000_000, "p99_ns": 2_500_000},
    }
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(state | changes))
    temporary.replace(path)


def first_of(plan: Plan) -> PlannedCell:
    """Return the first cell of a plan."""
    return plan.blocks[0][0]


class Clock:
    """A clock that is set by hand, in seconds."""

    now_s = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def test_the_time_left_is_that_of_the_cells_to_come() -> None:
    """The first counts as long as expected; those to come take as long as the ones before, on average."""
    clock = Clock()
    left = TimeLeft(4, 2.0, clock)
    assert 8.0 == left.compute_s()
    clock.now_s += 1.5
    assert 6.5 == left.compute_s()
    clock.now_s += 1.5
    left.count_done(1)
    assert 6.0 == left.compute_s()
    clock.now_s += 5.0
    left.count_done(2)
    assert 7.0 == left.compute_s()


def test_a_cell_that_takes_long_leaves_the_time_of_those_to_come() -> None:
    """The time left never falls below it, nor below nothing."""
    clock = Clock()
    left = TimeLeft(2, 2.0, clock)
    clock.now_s += 60.0
    assert 2.0 == left.compute_s()
    left.count_done(1)
    clock.now_s += 600.0
    assert 0.0 == left.compute_s()
    left.count_done(2)
    assert 0.0 == left.compute_s()


def test_each_window_of_a_search_is_told(tmp_path: Path, plan: Plan, file: ProgressFile) -> None:
    """A search sends many windows in one cell, each with its seconds from 1 on."""
    snapshot = tmp_path / "snapshot.json"
    file.begin_cell(first_of(plan), snapshot)
    for points, (second, successful) in enumerate(((1, 100), (1, 130), (2, 250), (1, 90)), start=1):
        tell(snapshot, second, successful=successful)
        until(tmp_path, lambda read, points=points: len(read.history) == points)  # type: ignore[misc]


def test_everyone_hears_the_same(plan: Plan, record: Record) -> None:
    """Each listener hears all, in order."""
    heard: list[tuple[int, object]] = []

    class Listener:
        def __init__(self, number: int) -> None:
            self.number = number

        def step(self, text: str) -> None:
            heard.append((self.number, text))

        def begin_cell(self, planned: PlannedCell, snapshot: Path | None) -> None:
            heard.append((self.number, (planned, snapshot)))

        def end_cell(self, record: Record, done: int, total: int) -> None:
            heard.append((self.number, (record.id, done, total)))

    both = ProgressListeners((Listener(1), Listener(2)))
    both.step("a")
    both.begin_cell(first_of(plan), None)
    both.end_cell(record, 1, 2)
    events = ["a", (first_of(plan), None), (record.id, 1, 2)]
    assert [(number, event) for event in events for number in (1, 2)] == heard


def test_a_run_says_how_it_goes_for_as_long_as_it_does(tmp_path: Path, plan: Plan, record: Record) -> None:
    """At its end the file is removed."""
    with ProgressFile(tmp_path, plan, TimeLeft(56, 2.0)) as file:
        begun = until(tmp_path, lambda _: True)
        assert (0, plan.cells_total, "starting", None, None, ()) == (
            begun.done, begun.total, begun.step, begun.cell, begun.last, begun.history,
        )  # fmt: skip
        assert 0 < begun.left_s <= 112
        assert begun.silent_s() < TIMEOUT_S
        file.end_cell(record, 1, 56)
    assert [] == list(tmp_path.glob("progress*"))


def test_the_cell_that_is_measured_is_told_second_by_second(tmp_path: Path, plan: Plan, file: ProgressFile) -> None:
    """Its name in words, its driver, the last second's figures, and a point for every second."""
    snapshot = tmp_path / "snapshot.json"
    file.begin_cell(first_of(plan), snapshot)
    quiet = until(tmp_path, lambda read: read.cell is not None)
    assert ("block 1 of 4: measuring", True, None) == (quiet.step, quiet.writes_snapshots, quiet.now)
    assert first_of(plan).cell.operation in str(quiet.cell)
    assert first_of(plan).cell.driver == quiet.driver
    tell(snapshot, 1)
    until(tmp_path, lambda read: read.now is not None)
    tell(snapshot, 2)
    seen = until(tmp_path, lambda read: len(read.history) > 1)
    assert [(1, 100, 2.5), (1, 200, 2.5)] == [(point.cell, point.rate_per_s, point.p99_ms) for point in seen.history]
    assert seen.now is not None
    assert (quiet.cell, 200, 1, None, "service", 1.0, 2.5) == (
        seen.now.cell, seen.now.rate_per_s, seen.now.failed_per_s, seen.now.items_per_s, seen.now.clock,
        seen.now.p50_ms, seen.now.p99_ms,
    )  # fmt: skip


def test_items_are_what_streams_are_drawn_by(tmp_path: Path, plan: Plan, file: ProgressFile) -> None:
    """A second without any latency is a point, too."""
    snapshot = tmp_path / "snapshot.json"
    file.begin_cell(first_of(plan), snapshot)
    tell(snapshot, 1, items=5000, latency=None)
    seen = until(tmp_path, lambda read: bool(read.history))
    assert (5000, None) == (seen.history[0].rate_per_s, seen.history[0].p99_ms)


def test_a_cell_that_tells_nothing_is_one_point(tmp_path: Path, plan: Plan, file: ProgressFile, record: Record) -> None:
    """Its figures come when it is done, and stay until the next one's."""
    file.begin_cell(first_of(plan), None)
    assert not until(tmp_path, lambda read: read.cell is not None).writes_snapshots
    file.end_cell(record, 1, 56)
    seen = until(tmp_path, lambda read: read.done == 1)
    assert seen.last is not None
    assert record.service is not None
    assert (record.rate_achieved_per_s, record.service.p99_ms) == (seen.last.rate_per_s, seen.last.p99_ms)
    assert [(1, record.rate_achieved_per_s)] == [(point.cell, point.rate_per_s) for point in seen.history]
    assert ["REST"] == [point.variant for point in seen.history]
    assert ("REST", "rest") == next(iter(seen.variants.items()))
    assert (None, None) == (seen.cell, seen.now)


def test_the_last_second_of_a_cell_is_seen_at_its_end(tmp_path: Path, plan: Plan, record: Record) -> None:
    """A short window's only second may be over just before the load is."""
    file = ProgressFile(tmp_path, plan, TimeLeft(56, 2.0))
    file.begin_cell(first_of(plan), tmp_path / "snapshot.json")
    tell(tmp_path / "snapshot.json", 1)
    file.end_cell(record, 1, 56)
    with file:
        seen = until(tmp_path, lambda read: read.done == 1)
    assert [100.0] == [point.rate_per_s for point in seen.history]


def test_the_history_is_bounded(tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is opened late shows the last two minutes, and the file stays small."""
    monkeypatch.setattr(progress_module, "_INTERVAL_S", 0.005)
    plan = make_plan(read_scenario(SCENARIOS / "quick.yaml").model_copy(update={"blocks": 15}), seed=1)
    with ProgressFile(tmp_path, plan, TimeLeft(210, 2.0)) as file:
        for done in range(1, 200):
            file.begin_cell(first_of(plan), None)
            file.end_cell(record, done, 210)
        seen = until(tmp_path, lambda read: read.done == 199)
    assert HISTORY_MAX == len(seen.history)
    assert 199 == seen.history[-1].cell


def test_a_full_disk_stops_no_run(tmp_path: Path, plan: Plan, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be written isn't, and the run hears nothing of it."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", fail)
    monkeypatch.setattr(progress_module, "_INTERVAL_S", 0.005)
    with ProgressFile(tmp_path / "finished", plan, TimeLeft(56, 2.0)) as file:
        file.end_cell(record, 1, 56)
        time.sleep(0.05)
        assert read_progress(tmp_path / "finished") is None
        monkeypatch.undo()
        until(tmp_path / "finished", lambda read: read.done == 1)


@pytest.mark.parametrize("damage", ["", "{", '{"schema_version": "wirebench.progress/9"}', "[]", "\x00" * 100])
def test_a_damaged_file_says_nothing(tmp_path: Path, damage: str) -> None:
    """Nor does one of another version."""
    (tmp_path / "progress.json").write_text(damage)
    assert read_progress(tmp_path) is None


@pytest.mark.parametrize("impossible", [{"done": 65}, {"left_s": -1.0}, {"last": -1.0}])
def test_a_file_that_says_what_can_not_be_says_nothing(
    tmp_path: Path, file: ProgressFile, record: Record, impossible: dict[str, float]
) -> None:
    """More cells than there are, or less than no time."""
    file.end_cell(record, 1, 56)
    state = until(tmp_path, lambda read: read.done == 1).model_dump(mode="json")
    changed = state | impossible
    if "last" in impossible:
        changed["last"] = state["last"] | {"p99_ms": impossible["last"]}
    for content, readable in ((state, True), (changed, False)):
        (tmp_path / "finished" / "progress.json").write_text(json.dumps(content))
        assert readable == (read_progress(tmp_path / "finished") is not None)


def test_a_snapshot_that_is_damaged_is_none(tmp_path: Path, plan: Plan, file: ProgressFile) -> None:
    """The run continues, and the next one counts."""
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text('{"schema": "wirebench.snapshot/1", "seconds": 1')
    file.begin_cell(first_of(plan), snapshot)
    assert until(tmp_path, lambda read: read.cell is not None).now is None
    tell(snapshot, 3)
    assert 300 == until(tmp_path, lambda read: read.now is not None).history[0].rate_per_s


def test_a_killed_run_leaves_a_file_that_is_silent(tmp_path: Path, plan: Plan, record: Record) -> None:
    """What it says is how far the run was; how long ago, its readers know."""
    with ProgressFile(tmp_path / "finished", plan, TimeLeft(56, 2.0)) as file:
        file.end_cell(record, 1, 56)
        left = until(tmp_path / "finished", lambda read: read.done == 1)
    write_progress(tmp_path, left)
    read = read_progress(tmp_path)
    assert left == read
    assert 90 == left.silent_s(left.updated_at + timedelta(seconds=90))
    assert 0 == left.silent_s(left.updated_at - timedelta(seconds=90))
