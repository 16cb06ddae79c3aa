"""Changes of level: how often one is found where there is none, where there is one, and what divides a history."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import wirebench
from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from wirebench.analysis.change_points import LineChanges, count_runs_needed, find_changes, find_splits
from wirebench.analysis.history import build_history
from wirebench.model.metric import METRICS
from wirebench.present.charts import history as chart
from wirebench.present.level_changes import describe_line_changes, list_change_caveats
from wirebench.results.runs import Run

SMALL, LARGE = {"cpu": "Small CPU", "cores": "2"}, {"cpu": "Large CPU", "cores": "64"}
#: Ten runs about 1,000, in no order that says anything.
STABLE = (1003, 996, 1007, 991, 1001, 1010, 994, 1005, 998, 989)

NOISE = {
    "normal": lambda random, runs: random.normal(size=runs),
    "Student's t with 2 degrees of freedom": lambda random, runs: random.standard_t(2, size=runs),
    "one run in ten 10 times as noisy": lambda random, runs: (
        random.normal(size=runs) * np.where(random.random(runs) < 0.1, 10, 1)
    ),
    "exponential": lambda random, runs: random.exponential(size=runs),
}


@pytest.mark.parametrize("runs", [8, 20, 60])
@pytest.mark.parametrize("noise", NOISE)
def test_a_stable_history_has_a_change_in_one_of_twenty_cases(noise: str, runs: int) -> None:
    """At most, whatever the tails: 5 % are promised, and 2,000 histories tell that to 1.5 %."""
    random = np.random.default_rng(11)
    found = [bool(find_splits([np.exp(0.03 * NOISE[noise](random, runs))])) for _ in range(2000)]
    assert np.mean(found) <= 0.065


@pytest.mark.parametrize(("before", "after"), [(10, 5), (10, 10), (30, 5)])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_step_of_ten_percent_is_found(before: int, after: int, factor: float) -> None:
    """Where runs differ by 2 % (with heavy tails): nearly always, and at most a run away from its place."""
    random = np.random.default_rng(12)
    found = near = 0
    for _ in range(300):
        figures = np.exp(0.02 * random.standard_t(4, size=before + after) / np.sqrt(2))
        figures[before:] *= factor
        splits = find_splits([figures])
        found += bool(splits)
        near += any(abs(split.place - before) <= 1 for split in splits)
    assert found / 300 >= 0.95
    assert near / 300 >= 0.95


def test_a_history_may_have_several_changes() -> None:
    """There and back again, although the level on both sides is the same."""
    random = np.random.default_rng(13)
    figures = np.exp(0.01 * random.normal(size=45))
    figures[15:30] *= 0.9
    assert [15, 30] == [split.place for split in find_splits([figures])]


def test_few_runs_have_no_change_however_clear() -> None:
    """Of 7 in two groups, one order in 35 is as clear on either side: too many for 5 %."""
    assert 8 == count_runs_needed()
    assert () == find_splits([[1, 1.1, 1.2, 10, 11, 12, 13]])
    assert [4] == [split.place for split in find_splits([[1, 1.1, 1.2, 1.3, 10, 11, 12, 13]])]


def test_figures_that_are_equal_have_no_change() -> None:
    """Neither have none."""
    assert () == find_splits([[5.0] * 30]) == find_splits([[]])


def test_one_outlier_is_no_change_of_level() -> None:
    """Not even the newest run, however far off."""
    assert () == find_splits([[*STABLE, *STABLE, *STABLE, 10.0]])


def test_a_change_within_the_margin_is_none() -> None:
    """However clear; and one beyond it is found beside it."""
    steps = [each * level for level in (1, 1.03, 1.1) for each in STABLE]
    assert [10, 20] == [split.place for split in find_splits([steps])]
    assert [20] == [split.place for split in find_splits([steps], margin=0.05)]


def test_a_change_has_to_be_there_in_all_views() -> None:
    """In the same direction; what another reading doesn't show isn't one."""
    step = [*STABLE, *(1.2 * each for each in STABLE)]
    assert [10] == [split.place for split in find_splits([step, step])]
    assert () == find_splits([step, [*STABLE, *STABLE]])
    assert () == find_splits([step, [1e6 / each for each in step]])


def write(
    folder: Path,
    rates_per_s: Sequence[float],
    first: int = 0,
    info: Mapping[str, Any] = {},
    **record: Any,  # noqa: ANN401 - whatever a record has
) -> list[Run]:
    """Write a run an hour with these rates; their records have this besides."""
    runs = []
    for number, rate_per_s in enumerate(rates_per_s, first):
        day, hour = divmod(number, 24)
        name = f"202611{day + 1:02d}T{hour:02d}0000Z-quick"
        started = f"2026-11-{day + 1:02d}T{hour:02d}:00:00Z"
        about = {"id": name, "started_at": started, "machine": SMALL, "commit": f"{number:040x}", **info}
        changed = {"rate_achieved_per_s": rate_per_s, "gates": (), **record}
        runs.append(RunBuilder(cells=[cell("rest")], blocks=1, samples=50, info=about, record=changed).write(folder))
    return runs


def find(runs: Sequence[Run]) -> tuple[LineChanges, ...]:
    """Return the changes of the runs' history."""
    found = build_history(runs)
    assert found is not None
    return find_changes(found)


def slower(rates_per_s: Sequence[float]) -> list[float]:
    """Return rates a tenth lower."""
    return [0.9 * each for each in rates_per_s]


def test_a_change_has_its_runs_and_ratio(tmp_path: Path) -> None:
    """And a sentence with the first run of the new level, its version and both levels."""
    runs = write(tmp_path, [*STABLE, *slower(STABLE[:6])])
    (line,) = find(runs)
    (change,) = line.changes
    assert (10, 6) == (len(change.before), len(change.after))
    assert runs[10].info.id == change.first.run.id
    assert 0.9 == pytest.approx(change.ratio, rel=0.01)
    (sentence,) = describe_line_changes(line, METRICS["throughput"])
    assert sentence.startswith(f"slower since {runs[10].info.id} (000000000000): 0.90× the requests/s, 1,000 → 902")
    assert "(10 runs before, 6 after; p = 0.0" in sentence
    assert ["Of histories without a change, at most 5 % show one; changes within 5% are left out."] == list(
        list_change_caveats([line])
    )


def test_a_change_of_the_machine_s_speed_is_said(tmp_path: Path) -> None:
    """Of a change that it doesn't explain; where its speed is the same, or unknown, nothing is said of it."""
    before = write(tmp_path, STABLE, reference_us=1000.0)
    for after_us, is_said in ((900.0, True), (1020.0, False), (None, False)):
        after = write(tmp_path / str(after_us), slower(STABLE[:6]), first=len(STABLE), reference_us=after_us)
        (line,) = find([*before, *after])
        (sentence,) = describe_line_changes(line, METRICS["throughput"])
        assert is_said == sentence.endswith("The machine took 0.90× the time for a fixed piece of work, too.")


def test_what_the_machine_s_speed_explains_is_no_change(tmp_path: Path) -> None:
    """A tenth fewer requests/s where a fixed piece of work took a tenth longer."""
    before = write(tmp_path, STABLE, reference_us=1000.0)
    (line,) = find([*before, *write(tmp_path, slower(STABLE), first=len(STABLE), reference_us=1111.0)])
    assert ((), 20) == (line.changes, line.runs_searched)


def test_machines_are_searched_apart(tmp_path: Path) -> None:
    """What is slower on another machine is no change, and each line has a share of the 5 %."""
    runs = [*write(tmp_path, STABLE), *write(tmp_path, slower(STABLE), first=10, info={"machine": LARGE})]
    assert [((), 10, 9), ((), 10, 9)] == [(line.changes, line.runs_searched, line.runs_needed) for line in find(runs)]


@pytest.mark.parametrize(
    "info",
    [
        {"versions": {"wireload": "2.0.0"}},
        {"scenario_text": "question: q\nfactors: {transport: rest}\nload: {model: calls, calls: 50}\n"},
    ],
)
def test_what_cannot_be_compared_divides_a_line(tmp_path: Path, info: dict[str, Any]) -> None:
    """As `compare` keeps such runs apart: another driver's version or load is no change of the service."""
    (line,) = find([*write(tmp_path, STABLE), *write(tmp_path, slower(STABLE), first=10, info=info)])
    assert ((), (10, 10)) == (line.changes, line.stretches)
    assert "Runs were searched in parts" in next(list_change_caveats([line]))


def test_runs_with_failed_gates_are_left_out(tmp_path: Path) -> None:
    """They make no change, and hide none: two levels are found around them."""
    unfit = write(tmp_path, [10.0] * 6, first=10, gates=(GENERATOR_GATE,))
    before, after = write(tmp_path, STABLE), write(tmp_path, STABLE, first=16)
    (line,) = find([*before, *unfit, *after])
    assert ((), (20,), 6) == (line.changes, line.stretches, line.left_out)
    assert "Left out of the search: 6 runs" in next(list_change_caveats([line]))
    (line,) = find([*before, *unfit, *write(tmp_path / "slower", slower(STABLE), first=16)])
    assert ["20261101T160000Z-quick"] == [change.first.run.id for change in line.changes]


def test_a_run_that_goes_is_left_out(tmp_path: Path) -> None:
    """Its figures change with its records."""
    runs = write(tmp_path, STABLE)
    running = dataclasses.replace(runs[-1], info=runs[-1].info.model_copy(update={"status": "running"}))
    (line,) = find([*runs[:-1], running])
    assert ((9,), 1) == (line.stretches, line.left_out)


def test_too_few_runs_are_said_to_be(tmp_path: Path) -> None:
    """Rather than that nothing has changed."""
    (line,) = find(write(tmp_path, STABLE[:5]))
    said = ("Changes of level take 8 runs that can be compared: there are 5.",)
    assert said == describe_line_changes(line, METRICS["throughput"])
    (line,) = find(write(tmp_path / "more", STABLE))
    assert ("No change of level was found in 10 runs.",) == describe_line_changes(line, METRICS["throughput"])


def test_the_chart_marks_where_the_level_changes(tmp_path: Path) -> None:
    """Between the runs, with the ratio."""
    found = build_history(write(tmp_path, [*STABLE, *slower(STABLE)]))
    assert found is not None
    drawn = Drawn(chart.draw(found, 800, find_changes(found)).svg)
    marks = drawn.marks()
    (step,) = drawn.numbers("step", "x1")
    assert marks[9][0] < step < marks[10][0]
    assert ["0.90×: slower"] == drawn.texts("value")
    assert [] == Drawn(chart.draw(found, 800).svg).all("step")


def test_the_command_finds_them_when_asked(tmp_path: Path) -> None:
    """In the terminal, for programs, and in the plot."""
    write(tmp_path, [*STABLE, *slower(STABLE)])
    ask = ("history", "--scenario", "quick", "--out", tmp_path)
    status, shown, _ = wirebench(*ask, "--changes", "--plot", tmp_path / "plot.svg")
    assert 0 == status
    assert "• slower since 20261101T100000Z-quick (000000000000): 0.90× the requests/s" in shown
    assert 'class="step"' in (tmp_path / "plot.svg").read_text()
    assert "since" not in wirebench(*ask)[1]
    for options, expected in ((("--changes",), ["20261101T100000Z-quick"]), ((), None)):
        (found,) = json.loads(wirebench(*ask, "--json", *options)[1])["cells"]
        changes = found["lines"][0]["changes"]
        assert expected == (changes and [change["first"] for change in changes])
