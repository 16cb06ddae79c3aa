"""What the figures of a run are worth is shown wherever a run is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests.support.command_line import render_run
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.model.metric import METRICS
from wirebench.model.record import Instrument
from wirebench.present.caveats import describe_calibrated_load, describe_calibration, describe_retries, list_caveats
from wirebench.present.run_data import describe_cells
from wirebench.report.page import render
from wirebench.results.runs import Run
from wirebench.web.pages.results import make_result_table

COARSE = Instrument(coarse=True, p50_error_ms=None, p99_error_ms=None, ceiling_per_s=20_000, ceiling_share=0.437)
FINE = COARSE.model_copy(update={"coarse": False, "ceiling_share": 0.25})
CELLS = [cell(transport, concurrency=count) for transport in ("rest", "grpc", "socket") for count in (1, 16)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run whose drivers are calibrated coarsely."""
    return RunBuilder(cells=CELLS, samples=50, record={"instrument": COARSE}).write(tmp_path)


def calibrate(run: Run, *cells: str) -> Run:
    """Return the run with a full calibration of these cells."""
    records = (each.model_copy(update={"instrument": FINE}) if each.cell in cells else each for each in run.records)
    return dataclasses.replace(run, records=tuple(records))


def test_a_coarse_calibration_is_said_wherever_a_run_is_shown(run: Run) -> None:
    """In one sentence with the command that renews it: terminal, report and pages."""
    said = describe_calibration(run)
    assert (
        "the drivers' error and ceiling are known coarsely in all 6 cells, measured briefly at the start "
        "of a run; `wirebench calibrate` renews it, for up to 64 connections"
    ) == said
    assert f"! {said}\n" in render_run(run)
    shown = re.sub(r"`(.+?)`", r"<code>\1</code>", said.replace("'", "&#39;"))
    assert shown in render(run)
    assert said in list_caveats(run)


def test_loads_whose_error_may_be_larger_are_named(tmp_path: Path) -> None:
    """Nothing is said of others, nor where no error is known."""
    known = COARSE.model_copy(update={"p99_error_ms": (0.1, 0.2)})
    cells = [cell("rest", tls="server"), cell("grpc", tls="server"), cell("socket", connection="reopen")]
    run = RunBuilder(cells=cells, samples=50, record={"instrument": known}).write(tmp_path)
    said = describe_calibrated_load(run)
    assert said.endswith("on kept connections: with reopened connections or TLS it may be larger")
    assert f"! {said}\n" in render_run(run)
    assert said in list_caveats(run)
    plain = [each for each in run.records if each.factors["tls"] == "none" and each.factors["connection"] == "keep"]
    assert "" == describe_calibrated_load(dataclasses.replace(run, records=tuple(plain)))
    unknown = tuple(each.model_copy(update={"instrument": COARSE}) for each in run.records)
    assert "" == describe_calibrated_load(dataclasses.replace(run, records=unknown))


def test_cells_with_a_coarse_calibration_are_named(run: Run) -> None:
    """Some of them, if there are many; nothing is said where there are none."""
    names = [each.full_name for each in summarise(run.records)]
    ids = [each.cell for each in summarise(run.records)]
    for fine, expected in (
        (ids[:1], f"in 5 of 6 cells ({'; '.join(names[1:4])}; 2 more), measured briefly"),
        (ids[:5], f"are known coarsely in {names[5]}, measured briefly"),
    ):
        assert expected in describe_calibration(calibrate(run, *fine))
    assert "" == describe_calibration(calibrate(run, *ids))


def test_load_pods_are_calibrated_in_their_cluster(run: Run) -> None:
    """By the command's option for that."""
    there = dataclasses.replace(run, info=run.info.model_copy(update={"target": "kubernetes"}))
    assert (
        " at the start of this run, in a pod; `wirebench calibrate --target kubernetes` renews it, for up to 64 "
        "connections"
    ) in describe_calibration(there)


def test_the_share_of_the_ceiling_is_shown_in_every_table(run: Run) -> None:
    """In percent: terminal, report, pages and API."""
    (first, *_) = summarise(run.records)
    shares = pytest.approx((43.7, 3))
    assert shares == tuple(first.figure(METRICS[name]) for name in ("ceiling_share", "coarse"))
    heading, _units, _load, row = render_run(run).splitlines()[3:7]
    assert ("driver", "43.7") == (heading.split()[-1], row.split()[-1])
    assert '<th scope="col">share of the driver&#39;s ceiling<small>%</small></th>' in render(run)
    table = make_result_table(describe_cells(run))
    headings = [column.heading for column in table.columns]
    shown = dict(zip(headings, table.groups[0][1][0].figures, strict=True))
    assert ("43.7", "3") == (shown["share of the driver's ceiling"], shown["coarsely calibrated"])
    assert shares == (describe_cells(run)[0].ceiling_share_percent, describe_cells(run)[0].coarse_blocks)


def test_requests_that_were_sent_again_are_a_caveat_of_their_cell(tmp_path: Path) -> None:
    """With how many they were in all blocks: terminal and report; nothing is said where there are none."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=2, record={"retried": 1500}).write(tmp_path)
    found = tuple(describe_retries(run))
    assert [f"{each.full_name}: 3,000 requests were sent again" for each in summarise(run.records)] == [
        each.partition(", because")[0] for each in found
    ]
    assert set(found) <= set(list_caveats(run))
    assert all(f"! {each}\n" in render_run(run) and each in render(run) for each in found)
    assert [] == list(describe_retries(RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path / "none")))
