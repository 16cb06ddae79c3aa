"""`wirebench run` with each kind of load by k6, and over TLS: real services and real tools."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.runs import ONE_CELL, TINY, WIREBENCH, needs_tools, only_run, wirebench
from wirebench import network
from wirebench.drivers import DRIVERS

pytestmark = needs_tools


def test_an_open_load_measures_response_time(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """At a fixed rate every request has both clocks, and waits at least as long as it is served."""
    text = TINY.replace("model: closed", "model: open").replace("{grpc: [wireload, ghz]}\n", "k6\n  rate_per_s: 200\n")
    done = wirebench("run", scenario(text), "--blocks", "1", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    for record in only_run(tmp_path / "results").records:
        assert record.service is not None
        assert record.response is not None
        assert record.service.count == record.response.count
        assert record.response.mean_ms >= record.service.mean_ms * 0.99
        assert 200 == record.rate_asked_per_s
        # For 1.15 s, whether or not the machine was too busy for all of them.
        assert 230 == pytest.approx(record.requests_total + record.dropped_iterations, rel=0.05)


OTHERS = [name for name in ("fortio", "oha", "locust") if DRIVERS[name].version()]


@pytest.mark.skipif("fortio" not in OTHERS, reason="fortio is not installed: make driver-fortio")
@pytest.mark.parametrize("tls", ["none", "mutual"])
def test_other_drivers_send_what_the_services_count(tls: str, scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """They are compared with wireload on the same service, which has counted each request and found none wrong."""
    text = f"""\
question: Do others measure what wireload does?
factors:
  transport: [rest, grpc]
  driver: {{rest: [wireload, {", ".join(OTHERS)}], grpc: [wireload, fortio]}}
  concurrency: 2
  tls: {tls}
load: {{warmup_s: 0.4, window_s: 0.6}}
blocks: 1
compare: driver
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 3 + len(OTHERS) == len(run.records)
    for record in run.records:
        assert {} == record.errors, record.error_texts
        assert [] == [gate.name for gate in record.gates if gate.name in {"counts", "conformance"} and not gate.passed]
        assert str(record.factors["driver"]) in run.info.versions
    said = " ".join(done.stdout.split())
    others = "|".join(OTHERS)
    assert 1 + len(OTHERS) == len(re.findall(rf"on the same service, (?:{others}) measured .*? of wireload", said))


def test_a_replay_sends_every_recorded_request(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """All are due in the window and counted there, to the one; the recording travels with the run.

    The timing file of --timing replaces the scenario's.
    """
    timing = tmp_path / "timing.json"
    timing.write_text(json.dumps([0, *[0.5] * 60, *(0.8 + each / 100 for each in range(40))]), encoding="utf-8")
    text = ONE_CELL.replace("socket", "socket, driver: k6, concurrency: 100").replace(
        "load: {", "load: {model: replay, timing: "
    )
    text = text.replace("timing: warmup_s: 0.1, window_s: 0.5", "timing: timing.json, speedup: 2, warmup_s: 0.3")
    (tmp_path / "other.json").write_text("[0, 1]", encoding="utf-8")
    text = text.replace("timing.json", "other.json")
    done = wirebench("run", scenario(text), "--timing", timing, "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    (record,) = run.records
    assert 101 == record.requests + record.dropped_iterations
    assert record.response is not None
    assert 101 == sum(each.requests_ok for each in record.over_time) + record.dropped_iterations
    # The burst is due at a quarter of a second, all of it in one slice.
    assert 60 == round(max(each.rate_asked_per_s * (each.end_s - each.start_s) for each in record.over_time))
    assert "drift" not in {gate.name for gate in record.gates}
    assert timing.read_text() == (run.folder / "timing.json").read_text()
    assert [] == list(run.folder.glob("histograms/*arrivals*"))


def test_a_ramp_grows_to_its_rate(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """What is asked for grows from slice to slice; the figure on the whole window is the mean."""
    text = ONE_CELL.replace("socket", "socket, driver: k6, concurrency: 50, rate_per_s: 400")
    text = text.replace("warmup_s: 0.1, window_s: 0.5", "model: ramp, from_rate_per_s: 100, warmup_s: 0.2, window_s: 1")
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    (record,) = only_run(tmp_path / "results").records
    assert 250 == record.rate_asked_per_s == record.requests + record.dropped_iterations
    first, *_, last = (
        sum(each.rate_asked_per_s for each in record.over_time[place : place + 10]) / 10 for place in (0, 40)
    )
    assert (130, 370) == pytest.approx((first, last), rel=0.1)


def test_tls_on_all_transports(tmp_path: Path, scenario: Callable[[str], Path]) -> None:
    """Versions and key exchange are the same, the report names the ciphers, nothing fails, and the keys are gone."""
    path = scenario(
        "question: What do handshakes cost?\n"
        "factors: {transport: [rest, grpc, socket], tls: mutual, connection: [keep, reopen]}\n"
        "load: {warmup_s: 0.2, window_s: 0.5}\nblocks: 1\ncompare: connection\n"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [WIREBENCH, "run", path, "--out", tmp_path / "out"],
        capture_output=True, text=True, timeout=110, check=False, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip

    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "out")
    folder, records = run.folder, run.records
    assert [{}] * 6 == [record.errors for record in records]
    agreed = {(each.version, each.key_exchange, each.resumed) for record in records for each in record.tls}
    assert {("TLS 1.3", "X25519", False)} == agreed
    for cipher_suite in {each.cipher_suite for record in records for each in record.tls}:
        assert f"TLS 1.3, {cipher_suite}, X25519" in " ".join(done.stdout.split())
    assert [] == list(temporary.iterdir())
    for file in filter(Path.is_file, folder.rglob("*")):
        assert b"PRIVATE KEY" not in file.read_bytes()


@pytest.mark.skipif(network.version() is None, reason="toxiproxy is not built: make setup")
def test_a_request_that_takes_longer_than_the_timeout_has_failed(
    scenario: Callable[[str], Path], tmp_path: Path
) -> None:
    """By each driver that has a timeout, through a network that is slower than the timeout allows."""
    text = """\
question: What does an impatient client see?
factors: {transport: [rest, grpc], driver: {rest: [wireload, k6], grpc: [wireload, ghz]},
  concurrency: 2, network: {delay_ms: 600}}
load: {timeout_s: 0.2, warmup_s: 0.3, window_s: 1}
blocks: 1
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 4 == len(run.records)
    assert "closed, timeout 0.2 s; warm-up 0.3 s, window 1 s" in (run.folder / "report.html").read_text()
    for record in run.records:
        assert {"deadline_exceeded": record.requests} == record.errors, record.error_texts


def test_a_warm_up_by_calls_is_sent_and_does_not_count(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Each connection warms up with so many calls; the window has the others, and the service has counted them all."""
    text = """\
question: What do calls take once all is warm?
factors: {transport: [rest, grpc, socket], concurrency: 3}
load: {model: calls, calls: 20, warmup_calls: 15}
blocks: 1
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 3 == len(run.records)
    for record in run.records:
        assert ({}, 60, 105) == (record.errors, record.requests, record.requests_total)
        assert [] == [gate.name for gate in record.gates if gate.name in {"calls", "counts"} and not gate.passed]
    assert "20 calls a connection, 15 to warm up" in (run.folder / "report.html").read_text()


def test_users_arrive_over_time(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """All are there when the window opens, and each keeps a connection of its own."""
    text = """\
question: Who minds an arrival of users over time?
factors: {transport: [rest, grpc, socket], concurrency: 6}
load: {spawn_rate_per_s: 20, warmup_s: 0.6, window_s: 0.5}
blocks: 1
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 3 == len(run.records)
    for record in run.records:
        assert {} == record.errors, record.error_texts
        assert [] == [gate.name for gate in record.gates if gate.name == "counts" and not gate.passed]
    assert "closed, 20 users start a second; warm-up 0.6 s" in (run.folder / "report.html").read_text()


def test_a_workload_in_phases(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Each phase has an equal part of the calls; what was created is there to be read and deleted."""
    text = """\
question: What do inserts cost, all at once?
factors: {transport: [rest, grpc, socket], operation: crud, payload: list, concurrency: 2}
load:
  model: calls
  calls: 40
  warmup_calls: 6
  workloads:
    crud: {phases: [users.create, users.list, users.get, users.delete]}
blocks: 1
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    records = only_run(tmp_path / "results").records
    assert 3 == len(records)
    for record in records:
        assert ({}, 80, 0) == (record.errors, record.requests, record.mismatches), record.error_texts
        phases = ("users.create", "users.list", "users.get", "users.delete")
        assert dict.fromkeys(phases, 20) == {name: each.requests for name, each in record.operations.items()}
        assert [] == [gate.name for gate in record.gates if gate.name in {"calls", "counts"} and not gate.passed]
