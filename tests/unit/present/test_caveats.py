"""What the figures of a run are worth is shown wherever a run is."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import render_run
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.model.record import Instrument
from wirebench.present.caveats import describe_calibration, describe_retries
from wirebench.present.run import make_run_view

COARSE = Instrument(coarse=True, p50_error_ms=None, p99_error_ms=None, ceiling_per_s=20_000, ceiling_share=0.437)
CELLS = [cell(transport, concurrency=count) for transport in ("rest", "grpc", "socket") for count in (1, 16)]


def test_a_caveat_is_shown_once_wherever_a_run_is(tmp_path: Path) -> None:
    """In one sentence with the command that renews a calibration: terminal, and all that shows the run's view."""
    run = RunBuilder(cells=CELLS, samples=50, record={"instrument": COARSE}).write(tmp_path)
    (caveat,) = describe_calibration(summarise(run.records))
    assert (
        "the drivers' error and ceiling are known coarsely in 6 of 6 cells, measured briefly at the start "
        "of a run; `wirebench calibrate` renews it, for up to 64 connections"
    ) == caveat
    assert 1 == render_run(run).count(f"! {caveat}\n")
    assert 1 == make_run_view(run).caveats.count(caveat)


def test_requests_that_were_sent_again_are_a_caveat_of_their_cell(tmp_path: Path) -> None:
    """With how many they were in all blocks; nothing is said where there are none."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=2, record={"retried": 1500, "reconnects": 2}).write(
        tmp_path
    )
    found = tuple(describe_retries(summarise(run.records)))
    again, replaced = "3,000 requests were sent again", "4 connections replaced one that had ended"
    assert [f"{name}: {what}" for name in ("REST", "gRPC") for what in (again, replaced)] == [
        each.partition(", because")[0] for each in found
    ]
    assert set(found) <= set(make_run_view(run).caveats)
    none = RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path / "none")
    assert [] == list(describe_retries(summarise(none.records)))
