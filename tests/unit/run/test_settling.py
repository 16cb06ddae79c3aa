"""Runs that repeat blocks until their verdicts are settled: when they look, when they end, and how often they err."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tests.support.command_line import reject, render_run
from tests.support.report_run import RunBuilder, cell, passed
from wirebench.analysis.compare_cells import compare_records
from wirebench.analysis.ratio import paired_ratio
from wirebench.analysis.significance import compute_significance
from wirebench.errors import UsageError
from wirebench.model.record import Gate
from wirebench.model.run_info import Ended, Looks
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import make_plan
from wirebench.report import write_report
from wirebench.results.runs import Run
from wirebench.run.execution import TimeSpent, _Execution
from wirebench.run.repetition import plan_again
from wirebench.run.resumption import plan_rest
from wirebench.run.settling import find_end, schedule_looks
from wirebench.run.target_options import TargetOptions

TEXT = "question: Which is faster?\nfactors: {transport: [rest, grpc], concurrency: 4}\nblocks: 4\n"
CLEAR, CLOSE = 2.0, 1.04


def make_run(folder: Path, ratio: float, blocks: int = 9, *, gate: Gate | None = None, **info: object) -> Run:
    """Return a run in which gRPC is as much faster than REST, within 5 % from block to block."""
    cells = [cell("rest", concurrency=4), cell("grpc", concurrency=4)]
    looks = {"looks": schedule_looks(4, 9), "scenario_text": TEXT, "question": "Which is faster?"}
    random, rates = np.random.default_rng(5), {"rest": 1000.0, "grpc": 1000.0 * ratio}
    builder = RunBuilder(
        cells=cells,
        blocks=blocks,
        samples=100,
        info=looks | info,
        gates=(gate or passed(),),
        record=lambda each: {"rate_achieved_per_s": rates[str(each.factors["transport"])] * random.lognormal(0, 0.05)},
    )
    return builder.write(folder)


def test_a_resumed_run_whose_time_was_up_ends_after_its_last_block(tmp_path: Path) -> None:
    """It ends after the block that had begun, and not after the first one that it looks at again."""
    run = make_run(tmp_path, CLOSE, 5)
    blocks = [[each for each in run.records if each.block == number] for number in range(1, 10)]
    plan = SimpleNamespace(
        looks=Looks(blocks=(9,), duration_max_s=60),
        blocks=[[SimpleNamespace(id=each.id) for each in block] for block in blocks],
        done={each.id for each in run.records},
    )
    parts = dict.fromkeys(("target", "progress", "ids", "verifier", "description"))
    writer = SimpleNamespace(folder=run.folder, update=lambda **_: None)
    spent = TimeSpent(duration_s=61.0, measured_s=0.0, services_start_s=None)
    execution = _Execution(**cast("Any", parts | {"plan": plan, "writer": writer, "before": spent, "done": 10}))
    assert [False, False, False, False, True] == [execution.is_settled(number) for number in range(1, 6)]


def test_looks_lie_further_and_further_apart_up_to_the_limit() -> None:
    """Each look costs: so they are few."""
    assert (4, 6, 9, 14, 21, 32) == schedule_looks(4).blocks
    assert (5, 8, 10) == schedule_looks(5, 10).blocks
    assert (3,) == schedule_looks(3, 3).blocks
    assert 1000 == schedule_looks(500).blocks[-1]


@pytest.mark.parametrize(("first", "limit"), [(1, None), (5, 4)])
def test_a_limit_that_settles_nothing_is_an_error(first: int, limit: int | None) -> None:
    """One block has no interval, and a run has no fewer blocks than it begins with."""
    with pytest.raises(UsageError):
        schedule_looks(first, limit)


@pytest.mark.parametrize(
    ("ratio", "blocks", "duration_s", "expected"),
    [
        (CLEAR, 3, 0.0, ""),  # no look is due
        (CLEAR, 4, 0.0, "settled"),
        (CLOSE, 4, 0.0, ""),
        (CLOSE, 9, 0.0, "blocks"),
        (CLOSE, 5, 61.0, "time"),
        (CLEAR, 4, 61.0, "settled"),
    ],
)
def test_a_run_ends_when_no_verdict_is_inconclusive(
    tmp_path: Path, ratio: float, blocks: int, duration_s: float, expected: Ended
) -> None:
    """Or at a limit; blocks beyond the look, of a run that is resumed, don't count."""
    looks = Looks(blocks=(4, 6, 9), duration_max_s=60)
    assert expected == find_end(looks, make_run(tmp_path, ratio), blocks, duration_s)


def test_withheld_verdicts_are_not_waited_for(tmp_path: Path) -> None:
    """More blocks don't fix a failed gate."""
    run = make_run(tmp_path, CLOSE, gate=passed("error_rate", passed=False))
    assert "settled" == find_end(schedule_looks(4), run, 4, 0.0)


def test_looks_make_intervals_wider_and_p_values_greater(tmp_path: Path) -> None:
    """Three looks: each p-value is three times what it would be, and the interval has 1 - 5 % / 3."""
    run = make_run(tmp_path, 1.1)
    (repeated,), (fixed,) = (
        compare_records(run.records, info) for info in (run.info, run.info.model_copy(update={"looks": None}))
    )
    assert repeated.significance is not None
    assert fixed.significance is not None
    assert 3 * fixed.significance.p_difference == pytest.approx(repeated.significance.p_difference)
    ratio = repeated.ratios["throughput"]
    assert ratio.low is not None
    edge = ratio.p_value(ratio.low, below=False)
    assert 0.025 / 3 == pytest.approx(edge)


@pytest.mark.parametrize(("comparisons", "runs"), [(1, 400), (4, 150)])
def test_looking_keeps_the_error_rate(comparisons: int, runs: int) -> None:
    """Of runs without any difference, at most 5 % ever find one; if looks cost nothing, far more would."""
    random = np.random.default_rng(48)
    looks = schedule_looks(4).blocks
    wrong = dict.fromkeys((1, len(looks)), 0)
    for _ in range(runs):
        logs = random.normal(0, 0.2, size=(comparisons, looks[-1]))
        for count in wrong:
            for blocks in looks:
                ratios = [paired_ratio(list(np.exp(each[:blocks])), [1.0] * blocks) for each in logs]
                tests = compute_significance(ratios, 0.05, count)
                if any(each.is_different for each in tests):
                    wrong[count] += 1
                    break
    assert wrong[len(looks)] / runs <= 0.05
    assert wrong[1] / runs >= 0.1


def test_a_plan_has_the_blocks_of_the_limit_in_the_order_of_the_seed(tmp_path: Path) -> None:
    """The first blocks are those of a run that isn't repeated; a scenario that compares nothing is an error."""
    path = tmp_path / "quick.yaml"
    path.write_text(TEXT)
    scenario = read_scenario(path)
    plan = make_plan(scenario, 7, looks=schedule_looks(4, 9))
    assert (9, make_plan(scenario, 7).blocks) == (len(plan.blocks), plan.blocks[:4])
    assert "block 2 of at most 9" == plan.describe_block(2)
    for change in (("[rest, grpc]", "rest"), ("blocks: 4", "compare: driver")):
        path.write_text(TEXT.replace(*change))
        with pytest.raises(UsageError):
            make_plan(read_scenario(path), 7, looks=schedule_looks(4))


def test_a_resumed_run_keeps_its_looks(tmp_path: Path) -> None:
    """What was planned before its first figure holds; a reproduction has the blocks that there were in the end."""
    run = make_run(tmp_path, CLOSE, 9, seed=7)
    plan = plan_again(run, TargetOptions())
    assert ((4, 6, 9), 9) == (run.info.looks and run.info.looks.blocks, len(plan.blocks))
    assert plan.looks is None
    rest = plan_rest(plan, dataclasses.replace(run, records=()))
    assert run.info.looks == rest.looks


@pytest.mark.parametrize(
    ("ended", "blocks", "said"),
    [
        (
            "settled",
            6,
            "ended after 6, as no verdict is inconclusive. 3 looks planned, so p-values are multiplied by 3",
        ),
        ("settled", 6, "after 2 looks (blocks 4, 6), 3.3 % of 5 % are spent."),
        ("time", 7, "its time was up. 3 looks planned"),
        ("time", 7, "after 3 looks (blocks 4, 6, 7), 5 % of 5 % are spent."),
        ("", 9, "Blocks are repeated until no verdict is inconclusive, up to 9 blocks or 1 min 0 s"),
    ],
)
def test_terminal_and_report_say_how_a_run_was_repeated(tmp_path: Path, ended: Ended, blocks: int, said: str) -> None:
    """Method, looks and what is spent of the error rate."""
    looks = Looks(blocks=(4, 6, 9), duration_max_s=60, ended=ended)
    run = make_run(tmp_path, CLEAR, blocks, looks=looks)
    assert said in render_run(run)
    assert said in write_report(run).read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-blocks", "9"), "--max-blocks limits --until-settled"),
        (("--max-time", "9m"), "--max-time limits --until-settled"),
        (("--until-settled", "--blocks", "2"), "so few blocks settle nothing"),
        (("--until-settled", "--max-blocks", "3"), "--max-blocks 3: the run begins with 4 blocks"),
        (("--until-settled", "--max-time", "soon"), "the duration 'soon' isn't between"),
        (("--until-settled", "--transport", "rest"), "there is nothing to compare"),
    ],
)
def test_options_that_contradict_each_other_are_errors(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    """Before anything starts, with what to do."""
    path = tmp_path / "quick.yaml"
    path.write_text(TEXT)
    assert said in reject("run", path, "--out", tmp_path / "results", *options)
