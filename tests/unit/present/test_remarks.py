"""What is said of runs beside comparisons: in the terminal, in the report and for programs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.command_line import render_run
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import Handshakes
from wirebench.model.scenario import Load, Objective
from wirebench.present.remarks import (
    describe_handshakes,
    describe_load,
    describe_uneven_workers,
)
from wirebench.present.run_data import make_run_data
from wirebench.report.page import render
from wirebench.results.runs import Run

SHARED = [cell("rest", workers=2), cell("rest", workers=4), cell("socket")]
FULL = Handshakes(
    version="TLS 1.3", cipher_suite="AES_128_GCM_SHA256", key_exchange="X25519", resumed=False, handshakes=1200
)
RESUMED = FULL.model_copy(update={"resumed": True, "handshakes": 34})
OLDER = FULL.model_copy(update={"version": "TLS 1.2", "cipher_suite": "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"})


def is_shown(sentence: str, run: Run) -> bool:
    """Say whether terminal, report and programs all have a sentence; the report up to its first apostrophe."""
    of_run = make_run_data(run)
    is_for_programs = sentence in (*of_run.summary, *of_run.notes)
    return is_for_programs and sentence in render_run(run) and sentence.partition("'")[0] in render(run)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(), "closed"),
        (Load(timeout_s=0.2), "closed, timeout 0.2 s"),
        (Load(model="open", concurrency_max=1000), "open, up to 1,000 connections"),
        (Load(spawn_rate_per_s=20), "closed, 20 users start a second"),
        (Load(model="calls", calls=2000, warmup_calls=15), "2,000 calls a connection, 15 to warm up"),
        (Load(model="capacity", objective=Objective(p99_ms=50)), "capacity, p99 at most 50 ms, errors at most 0.1 %"),
    ],
)
def test_a_load_is_described(load: Load, expected: str) -> None:
    """Its model, and what differs from the default."""
    assert expected == describe_load(load)


def test_uneven_workers_are_reported(tmp_path: Path) -> None:
    """The sentence says where, and how uneven; a service with one worker isn't counted."""
    run = RunBuilder(cells=SHARED, server={"fairness": 0.61}).write(tmp_path)
    sentence = describe_uneven_workers(summarise(run.records))
    assert sentence.startswith("Workers had uneven shares of the requests in 2 of 2 cells with several workers.")
    assert "2 workers" in sentence.partition("The least even is ")[2].partition("index 0.61")[0]
    assert is_shown(sentence, run)


@pytest.mark.parametrize("fairness", [0.95, None])
def test_even_workers_are_not_mentioned(tmp_path: Path, fairness: float | None) -> None:
    """Nor are those whose requests can't be counted."""
    run = RunBuilder(cells=SHARED, server={"fairness": fairness}).write(tmp_path)
    assert "" == describe_uneven_workers(summarise(run.records))


def measured(
    folder: Path, transport: Transport, *told: Handshakes, tls: str = "server", driver: str = "k6"
) -> CellSummary:
    """Return a cell, measured in one block, whose driver told so much of its handshakes."""
    built = RunBuilder([cell(transport, tls=tls, driver=driver)], blocks=1, samples=10, record={"tls": told})
    (summary,) = summarise(built.write(folder / f"{transport}-{driver}-{tls}").records)
    return summary


def test_what_all_agreed_on_is_said_once(tmp_path: Path) -> None:
    """However many cells, and with the sessions of all of them, and of their blocks, added up."""
    cells = [measured(tmp_path, "rest", FULL, RESUMED), measured(tmp_path, "grpc", FULL, tls="server")]
    assert (
        "All connections with TLS agreed on TLS 1.3, AES_128_GCM_SHA256, X25519.",
        "34 of 2,434 handshakes resumed an earlier session.",
    ) == describe_handshakes(cells)
    one = measured(tmp_path, "socket", RESUMED)
    cell_of_two = dataclasses.replace(one, records=one.records * 2)
    assert "68 of 68 handshakes resumed an earlier session." == describe_handshakes([cell_of_two])[1]


def test_who_agreed_on_something_else_is_named(tmp_path: Path) -> None:
    """A difference in ciphers is part of the difference between transports: each agreement with its transports."""
    cells = [
        measured(tmp_path, "rest", FULL), measured(tmp_path, "grpc", OLDER), measured(tmp_path, "socket", FULL),
    ]  # fmt: skip
    assert (
        "Not all connections with TLS agreed on the same, which is part of what is compared: REST, socket on TLS 1.3, "
        "AES_128_GCM_SHA256, X25519; gRPC on TLS 1.2, ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, X25519."
    ) == describe_handshakes(cells)[0]


def test_drivers_that_tell_nothing_are_named(tmp_path: Path) -> None:
    """Silence is no agreement: k6 tells, and ghz doesn't."""
    silent = measured(tmp_path, "grpc", driver="ghz")
    expected = "ghz doesn't report what its connections with TLS agreed on."
    assert (expected,) == describe_handshakes([silent])
    assert expected == describe_handshakes([measured(tmp_path, "grpc", FULL), silent])[-1]
