"""What the figures of a run are worth is shown wherever a run is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.command_line import render_run
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import Handshakes
from wirebench.model.record import Instrument
from wirebench.model.run_info import Run
from wirebench.present.caveats import (
    describe_calibration,
    describe_handshakes,
    describe_retries,
    describe_uneven_workers,
)
from wirebench.present.run import make_run_view

COARSE = Instrument(coarse=True, p50_error_ms=None, p99_error_ms=None, ceiling_per_s=20_000, ceiling_share=0.437)
FINE = COARSE.model_copy(update={"coarse": False, "ceiling_share": 0.25})
CELLS = [cell(transport, concurrency=count) for transport in ("rest", "grpc", "socket") for count in (1, 16)]
SHARED = [cell("rest", workers=2), cell("rest", workers=4), cell("socket")]
FULL = Handshakes(
    version="TLS 1.3", cipher_suite="AES_128_GCM_SHA256", key_exchange="X25519", resumed=False, handshakes=1200
)
RESUMED = FULL.model_copy(update={"resumed": True, "handshakes": 34})
OLDER = FULL.model_copy(update={"version": "TLS 1.2", "cipher_suite": "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run whose drivers are calibrated coarsely."""
    return RunBuilder(cells=CELLS, samples=50, record={"instrument": COARSE}).write(tmp_path)


def list_calibration(run: Run) -> list[str]:
    """Return what is said of a run's calibration."""
    return list(describe_calibration(summarise(run.records)))


def test_a_caveat_is_shown_once_wherever_a_run_is(run: Run) -> None:
    """In one sentence with the command that renews a calibration: terminal, and all that shows the run's view."""
    (caveat,) = list_calibration(run)
    assert (
        "the drivers' error and ceiling are known coarsely in 6 of 6 cells, measured briefly at the start "
        "of a run; `wirebench calibrate` renews it, for up to 64 connections"
    ) == caveat
    assert 1 == render_run(run).count(f"! {caveat}\n")
    assert 1 == make_run_view(run).caveats.count(caveat)


def test_loads_whose_error_may_be_larger_are_named(tmp_path: Path) -> None:
    """Nothing is said of others, nor where no error is known."""
    known = FINE.model_copy(update={"p99_error_ms": (0.1, 0.2)})
    cells = [cell("rest", tls="server"), cell("grpc", tls="server"), cell("socket", connection="reopen")]
    run = RunBuilder(cells=cells, samples=50, record={"instrument": known}).write(tmp_path)
    (caveat,) = list_calibration(run)
    assert caveat.endswith("on kept connections: with reopened connections or TLS it may be larger")
    plain = [each for each in run.records if each.factors["tls"] == "none" and each.factors["connection"] == "keep"]
    assert [] == list_calibration(dataclasses.replace(run, records=tuple(plain)))
    unknown = tuple(each.model_copy(update={"instrument": FINE}) for each in run.records)
    assert [] == list_calibration(dataclasses.replace(run, records=unknown))


def test_requests_that_were_sent_again_are_a_caveat_of_their_cell(tmp_path: Path) -> None:
    """With how many they were in all blocks; nothing is said where there are none."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=2, record={"retried": 1500}).write(tmp_path)
    found = tuple(describe_retries(summarise(run.records)))
    assert ["REST: 3,000 requests were sent again", "gRPC: 3,000 requests were sent again"] == [
        each.partition(", because")[0] for each in found
    ]
    assert set(found) <= set(make_run_view(run).caveats)
    none = RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path / "none")
    assert [] == list(describe_retries(summarise(none.records)))


def test_uneven_workers_are_reported(tmp_path: Path) -> None:
    """The sentence says where, and how uneven; a service with one worker isn't counted, and even ones aren't named."""
    run = RunBuilder(cells=SHARED, server={"fairness": 0.61}).write(tmp_path)
    (sentence,) = describe_uneven_workers(summarise(run.records))
    assert sentence.startswith("Workers had uneven shares of the requests in 2 of 2 cells with several workers.")
    assert "2 workers" in sentence.partition("The least even is ")[2].partition("index 0.61")[0]
    assert sentence in make_run_view(run).notes
    even = RunBuilder(cells=SHARED, server={"fairness": 0.95}).write(tmp_path / "even")
    assert [] == list(describe_uneven_workers(summarise(even.records)))


def measured(
    folder: Path, transport: Transport, *told: Handshakes, tls: str = "server", driver: str = "k6"
) -> CellSummary:
    """Return a cell, measured in one block, whose driver told so much of its handshakes."""
    built = RunBuilder([cell(transport, tls=tls, driver=driver)], blocks=1, samples=10, record={"tls": told})
    (summary,) = summarise(built.write(folder / f"{transport}-{driver}-{tls}").records)
    return summary


def test_what_connections_agreed_on_is_said_once_and_who_differs_is_named(tmp_path: Path) -> None:
    """A difference in ciphers is part of the difference between transports, and silence is no agreement."""
    rest, same, other, silent = (
        measured(tmp_path / "rest", "rest", FULL, RESUMED),
        measured(tmp_path / "same", "socket", FULL),
        measured(tmp_path / "other", "grpc", OLDER),
        measured(tmp_path / "silent", "grpc", driver="ghz"),
    )
    agreed = "All connections with TLS agreed on TLS 1.3, AES_128_GCM_SHA256, X25519."
    unknown = "ghz doesn't report what its connections with TLS agreed on."
    differing = (
        "Not all connections with TLS agreed on the same, which is part of what is compared: REST, socket on TLS 1.3, "
        "AES_128_GCM_SHA256, X25519; gRPC on TLS 1.2, ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, X25519."
    )
    assert [agreed] == list(describe_handshakes([rest, same]))
    assert differing == next(describe_handshakes([rest, other, same]))
    assert [unknown] == list(describe_handshakes([silent]))
    assert unknown == list(describe_handshakes([same, silent]))[-1]
