"""What the drivers' figures are worth is shown wherever a run is."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.cli.output import make_console, print_run
from wirebench.model.metric import METRICS
from wirebench.model.record import Instrument
from wirebench.present.caveats import describe_calibrated_load, describe_calibration, list_caveats
from wirebench.present.run_data import describe_cells
from wirebench.report.page import render
from wirebench.results.export import make_table, write_table
from wirebench.results.index import Filters, Index
from wirebench.results.runs import Run
from wirebench.web.pages.chapter import make_chapter

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


def test_a_coarse_calibration_is_said_wherever_a_run_is_shown(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """In one sentence with the command that renews it: terminal, report and pages."""
    said = describe_calibration(run)
    assert (
        "the drivers' error and ceiling are known coarsely in all 6 cells, measured once and in a hurry at the start "
        "of a run; `wirebench calibrate` renews it, for up to 64 connections"
    ) == said
    print_run(run, make_console())
    assert f"! {said}\n" in capsys.readouterr().out
    shown = re.sub(r"`(.+?)`", r"<code>\1</code>", said.replace("'", "&#39;"))
    assert shown in render(run)
    assert said in list_caveats(run)


def test_loads_whose_error_may_be_larger_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of others, nor where no error is known."""
    known = COARSE.model_copy(update={"p99_error_ms": (0.1, 0.2)})
    cells = [cell("rest", tls="server"), cell("grpc", tls="server"), cell("socket", connection="reopen")]
    run = RunBuilder(cells=cells, samples=50, record={"instrument": known}).write(tmp_path)
    said = describe_calibrated_load(run)
    assert said.endswith("on kept connections: with TLS or reopened connections it may be larger")
    print_run(run, make_console())
    assert f"! {said}\n" in capsys.readouterr().out
    assert said in list_caveats(run)
    plain = [each for each in run.records if each.factors["tls"] == "none" and each.factors["connection"] == "keep"]
    assert "" == describe_calibrated_load(dataclasses.replace(run, records=tuple(plain)))
    unknown = tuple(each.model_copy(update={"instrument": COARSE}) for each in run.records)
    assert "" == describe_calibrated_load(dataclasses.replace(run, records=unknown))


def test_cells_with_a_coarse_calibration_are_named(run: Run) -> None:
    """Some of them, if there are many; nothing is said where there are none, or nothing is known."""
    names = [each.full_name for each in summarise(run.records)]
    ids = [each.cell for each in summarise(run.records)]
    named = f"in 5 of 6 cells ({'; '.join(names[1:4])}; 2 more), measured once"
    assert named in describe_calibration(calibrate(run, ids[0]))
    assert f"in 3 of 6 cells ({'; '.join(names[3:])}), measured once" in describe_calibration(calibrate(run, *ids[:3]))
    assert f"are known coarsely in {names[5]}, measured once" in describe_calibration(calibrate(run, *ids[:5]))
    assert "" == describe_calibration(calibrate(run, *ids))
    unknown = tuple(each.model_copy(update={"instrument": None}) for each in run.records)
    assert "" == describe_calibration(dataclasses.replace(run, records=unknown))


def test_load_pods_are_calibrated_in_their_cluster(run: Run) -> None:
    """By the command's option for that."""
    there = dataclasses.replace(run, info=run.info.model_copy(update={"target": "kubernetes"}))
    assert (
        " at the start of this run, in a pod; `wirebench calibrate --target kubernetes` renews it, for up to 64 "
        "connections"
    ) in describe_calibration(there)


def test_the_share_of_the_ceiling_is_shown_in_every_table(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In percent: terminal, report, pages, API, index and files."""
    (first, *_) = summarise(run.records)
    shares = pytest.approx((43.7, 3))
    assert shares == tuple(first.figure(METRICS[name]) for name in ("ceiling_share", "coarse"))
    print_run(run, make_console())
    heading, _units, _load, row = capsys.readouterr().out.splitlines()[3:7]
    assert ("driver", "43.7") == (heading.split()[-1], row.split()[-1])
    assert '<th scope="col">share of the driver&#39;s ceiling<small>%</small></th>' in render(run)
    table = make_chapter(describe_cells(run), None).table
    headings = [column.heading for column in table.columns]
    shown = dict(zip(headings, table.groups[0][1][0].figures, strict=True))
    assert ("43.7", "3") == (shown["share of the driver's ceiling"], shown["coarsely calibrated"])
    assert shares == (describe_cells(run)[0].ceiling_share_percent, describe_cells(run)[0].coarse_blocks)
    file = io.BytesIO()
    with Index(f"sqlite:///{tmp_path}/index.db") as index:
        index.catch_up(tmp_path)
        write_table("csv", file, make_table(index, "results", Filters()))
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode())))
    assert rows
    assert all(shares == (float(each["ceiling_share_percent"]), int(each["coarse_blocks"])) for each in rows)
