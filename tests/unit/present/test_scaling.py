"""Scaling laws of runs: in the terminal, the report and the data for programs; and why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from pydantic import TypeAdapter

from tests.support.command_line import render_run
from tests.support.report_run import cell, passed
from tests.support.scaling_runs import draw_noise, grow, write_run
from wirebench.analysis.scaling import find_scalings
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.record import Gate, Record
from wirebench.present.data import ScalingData, make_scaling_data
from wirebench.present.scaling import describe_scalings, draw_scalings
from wirebench.report.page import render
from wirebench.results.runs import Run

LEVELS = (1, 2, 4, 8, 16)


def write_workers(folder: Path, levels: tuple[int, ...] = LEVELS, **options: object) -> Run:
    """Write a run of REST over its workers, with σ = 0.05 and κ = 0.01: the most is at 10 workers."""
    noise = draw_noise(1, 0.005)
    cells = [cell("rest", workers=level) for level in levels]

    def rate(record: Record) -> float:
        return grow(int(record.factors["workers"] or 0), 1000, 0.05, 0.01) * noise()

    return write_run(folder, cells, rate, **options)  # type: ignore[arg-type]


def describe(run: Run) -> tuple[str, ...]:
    """Say what the laws of a run are."""
    return describe_scalings(find_scalings(summarise(run.records)))


def test_points_far_from_the_best_fit_have_no_law(tmp_path: Path) -> None:
    """Parameters of a law that they don't follow would be quoted."""

    def rate(record: Record) -> float:
        return {1: 1000.0, 2: 1900.0, 4: 1500.0, 8: 5200.0, 16: 3000.0}[int(record.factors["workers"] or 0)]

    run = write_run(tmp_path, [cell("rest", workers=level) for level in (1, 2, 4, 8, 16)], rate)
    (sentence,) = describe(run)
    assert "requests/s follows no scaling law; the best fit is up to " in sentence


def test_terminal_report_and_programs_have_the_law(tmp_path: Path) -> None:
    """All have the same sentence; programs have parameters with intervals, the report has points, law and residuals."""
    run = write_workers(tmp_path)
    (scaling,) = find_scalings(summarise(run.records))
    (sentence,) = describe_scalings([scaling])
    assert sentence.startswith(
        "REST, users.get, 16 connections: requests/s follows the universal scalability law with workers, σ 0.0"
    )
    assert "; it is greatest at 10 (95 % CI " in sentence
    assert "extrapolated" not in sentence
    assert f"• {sentence}" in render_run(run)
    page = render(run)
    assert "requests/s and scaling law: users.get, 16 connections" in page
    assert "Residuals: users.get, 16 connections" in page
    (law_chart, residuals) = draw_scalings([scaling])
    assert "REST usl, greatest at" in law_chart.svg.description
    assert "most REST" in str(law_chart.svg.at())
    assert "REST 1.000 to 1.001" == residuals.svg.description
    data = orjson.loads(TypeAdapter(ScalingData).dump_json(make_scaling_data(scaling)))
    assert ("workers", "usl", sentence) == (data["factor"], data["law"]["model"], data["sentence"])
    assert data["law"]["kappa"]["low"] < 0.01 < data["law"]["kappa"]["high"]


def test_what_lies_beyond_the_levels_is_extrapolated(tmp_path: Path) -> None:
    """A most that no level reached is marked."""
    run = write_workers(tmp_path, (1, 2, 4, 8))
    assert ["workers, extrapolated beyond the 8 that were measured." in each for each in describe(run)] == [True]


@pytest.mark.parametrize(("noise", "ends"), [(0.001, r"\d+\.\d–\d+\.\d"), (0.04, r"\d+\.\d or more")])
def test_the_limit_of_amdahls_law_has_an_interval(tmp_path: Path, noise: float, ends: str) -> None:
    """It is that of 1 / σ, without an upper end where the data allows no contention at all."""
    draw = draw_noise(3, noise)

    def rate(record: Record) -> float:
        return grow(int(record.factors["workers"] or 0), 1000, 0.05) * draw()

    (sentence,) = describe(write_run(tmp_path, [cell("rest", workers=level) for level in (1, 2, 4, 8)], rate))
    found = re.search(rf"; it levels off at about (\d+\.\d) times that of one \(95 % CI {ends}\)\.", sentence)
    assert found
    assert 20 == pytest.approx(float(found[1]), rel=0.2)


def test_a_failed_gate_leaves_no_law(tmp_path: Path) -> None:
    """The gate and the level at which it failed are said."""

    def gates(of: Cell, block: int) -> tuple[Gate, ...]:
        return (passed("replica_balance", passed=(of.workers, block) != (4, 2), value=0.5),)

    expected = (
        "No scaling law over workers, as gates failed (replica balance at 4): REST, users.get, 16 connections.",
    )
    assert expected == describe(write_workers(tmp_path, gates=gates))


def split(sentences: tuple[str, ...]) -> list[str]:
    """Return the reason and the series of the only sentence."""
    (sentence,) = sentences
    return sentence.rsplit(": ", 1)


def test_too_few_levels_or_blocks_say_what_to_run(tmp_path: Path) -> None:
    """Three levels get a fourth to add; one block has no noise to be told by."""
    assert [
        "No scaling law over workers from 3 levels (4 are needed: `--set factors.workers=1,2,4,8`)",
        "REST, users.get, 16 connections.",
    ] == split(describe(write_workers(tmp_path / "levels", (1, 2, 4))))
    assert [
        "No scaling law over workers from 1 block with all levels: 3 are needed (--blocks)",
        "REST, users.get, 16 connections.",
    ] == split(describe(write_workers(tmp_path / "blocks", blocks=1)))


def test_a_rate_that_is_asked_for_has_no_law(tmp_path: Path) -> None:
    """An open load serves what was asked for, however many workers there are."""
    cells = [cell("rest", workers=level, rate_per_s=100) for level in LEVELS]
    assert () == find_scalings(summarise(write_run(tmp_path, cells, lambda _: 100.0).records))
