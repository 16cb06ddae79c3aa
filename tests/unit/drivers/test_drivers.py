"""Drivers: what they can send, what they are told, and what is made of their reports."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import jobs
from wirebench.drivers import K6, Ghz, Job
from wirebench.drivers import ghz as ghz_module
from wirebench.drivers.locust import Locust
from wirebench.drivers.oha import Oha
from wirebench.drivers.replay import DROPPED, Call, fold, render
from wirebench.drivers.wireload import describe_job
from wirebench.errors import WirebenchError
from wirebench.model.application import Operation, load_builtin
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import DriverVersion, HistogramFile
from wirebench.model.scenario import Load
from wirebench.plan.driver_support import explain_unsupported

MS = 1_000_000
CELL = dataclasses.replace(jobs.CELL, transport="rest", runtime="gunicorn-gthread", driver="oha", codec="json")
JOB = dataclasses.replace(jobs.JOB, cell=CELL, cores=frozenset({1}))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return a job whose files are in a folder."""
    return dataclasses.replace(JOB, output=tmp_path / "calls", log=tmp_path / "log", cores=None)


@pytest.mark.parametrize(
    ("driver", "operation", "rate_per_s", "why"),
    [
        ("k6", {"request": "GET /a", "expect": {"status": 204}}, None, ""),
        ("k6", {"request": "GET /a", "expect": {"status": 404}}, None, "counts status 404 as a failure"),
        ("k6", "users.create", 100, ""),
        ("k6", "users.create", None, "sent once"),
        ("k6", "users.delete", 100, "has to be created before"),
        ("ghz", "users.create", None, "sent once"),
        ("ghz", "ledger.stream_transactions", None, "one reply each"),
        ("ghz", {"call": "a.B/C", "metadata": {"a": "${A}"}}, None, "environment variables"),
        ("ghz", {"call": "a.B/C", "metadata": {"a": "{n}"}}, None, "the same metadata"),
        ("ghz", {"call": "a.B/C", "metadata": {"a": "b"}}, None, ""),
        ("oha", {"request": "GET /a", "headers": {"a": "b"}}, None, ""),
        ("oha", {"request": "GET /a", "headers": {"a": "{n}"}}, None, "varies the URL alone"),
        ("oha", {"request": "POST /a", "body": {"a": 1}}, None, "varies the URL alone"),
        ("oha", {"request": "GET /a", "expect": {"status": 404}}, None, "counts status 404 as a failure"),
        ("locust", {"request": "GET /a", "expect": {"status": 404}}, None, "counts status 404 as a failure"),
        ("locust", {"request": "POST /a", "body": "text", "headers": {"a": "{n}"}}, None, ""),
    ],
)
def test_what_a_driver_cannot_send_is_known(
    driver: Driver, operation: str | dict[str, object], rate_per_s: int | None, why: str
) -> None:
    """A plan says so before anything starts; what writes is rendered where it is known how many a load sends."""
    transport: Transport = "grpc" if driver == "ghz" else "rest"
    if isinstance(operation, str):
        asked = load_builtin().operations[operation]
    else:
        asked = Operation.model_validate({"inputs": {"n": {"counter": 1}}, transport: operation})
    found, too_long = (
        explain_unsupported(driver, jobs.cell(transport, driver, rate_per_s=rate_per_s), window_s, [asked])
        for window_s in (120, 121)
    )
    assert why in found
    assert (why == "") == (found == "")
    assert "120 s at most" in too_long


def test_requests_that_write_are_rendered_once_each(job: Job) -> None:
    """They are as many as an open load sends; reads may repeat."""
    cell = dataclasses.replace(CELL, driver="k6", operation="users.create", rate_per_s=20)
    requests = render(dataclasses.replace(job, cell=cell))
    assert len(requests) >= 30
    assert len(requests) == len({json.loads(each["body"])["id"] for each in requests})
    assert 1000 == len(render(job))
    assert 1 == len(render(dataclasses.replace(job, cell=dataclasses.replace(CELL, operation="echo.echo"))))


def test_locust_reports_statuses_and_what_was_raised(job: Job) -> None:
    """Outcomes are in the words of histogram files."""
    job.output.write_text(
        json.dumps([[1, 1, 201, ""], [2, 1, 503, ""], [3, 1, 0, "OSError: no"], [4, 1, 0, "TimeoutError: timed out"]])
    )
    calls = Locust().read_calls(job)
    assert [1, 2, 3, 4] == [call.end_unix_ns for call in calls]
    expected = ["ok", "unavailable: HTTP 503", "unavailable: OSError: no", "deadline_exceeded: TimeoutError: timed out"]
    assert expected == [": ".join(filter(None, (call.code, call.error))) for call in calls]


def write_oha(job: Job, rows: Sequence[tuple[float, float, int]], errors: dict[str, int]) -> None:
    """Write what oha writes: seconds since its start, and counts of errors."""
    urls = job.output.with_name("urls.txt")
    urls.touch()
    os.utime(urls, ns=(10**18, 10**18))
    with contextlib.closing(sqlite3.connect(job.output.with_name("calls.sqlite"))) as database, database:
        database.execute("CREATE TABLE oha (start REAL, end REAL, status INTEGER)")
        database.executemany("INSERT INTO oha VALUES (?, ?, ?)", rows)
    job.output.write_text(json.dumps({"errorDistribution": errors}))


def test_oha_reports_every_call_that_got_a_reply(job: Job) -> None:
    """Times count from its start. Requests without a reply have no time: they count at the start of the window."""
    write_oha(job, [(0.1, 0.3, 200), (0.4, 0.45, 404)], {"timeout": 2, "connection closed": 1})
    first, second, *failed = Oha().read_calls(job)
    assert (10**18 + 300_000_000, 200_000_000, "ok", "", None) == first
    assert (10**18 + 450_000_000, 50_000_000, "not_found", "HTTP 404", None) == second
    assert ["deadline_exceeded", "deadline_exceeded", "unavailable"] == [call.code for call in failed]
    assert {(10**18 + 600_000_000, 0)} == {(call.end_unix_ns, call.latency_ns) for call in failed}


def test_a_load_of_oha_without_a_reply_is_an_error(job: Job) -> None:
    """None of its requests has a time."""
    write_oha(job, [], {"connection refused": 3})
    with pytest.raises(WirebenchError, match="oha got no reply: connection refused"):
        Oha().read_calls(job)


@pytest.mark.parametrize(
    ("driver", "text"), [(Oha, None), (K6, None), (K6, ""), (K6, "x,y\n"), (K6, "metric_name\nhttp_req_duration\n")]
)
def test_a_result_that_is_none_is_an_error(
    job: Job, monkeypatch: pytest.MonkeyPatch, driver: type[Oha | K6], text: str | None
) -> None:
    """One line says what could not be read."""

    def write(_: object, own: Job) -> list[str]:
        if text is not None:
            own.output.write_text(text, encoding="utf-8")
        return ["true"]

    monkeypatch.setattr(driver, "build_arguments", write)
    asked = dataclasses.replace(job, cell=jobs.cell("rest", "k6" if driver is K6 else "oha"))
    with pytest.raises(WirebenchError, match=f"{driver.name} has no result"):
        driver().run(asked, lambda _: None)


K6_HEADER = "metric_name,timestamp,metric_value,error,error_code,name,status,extra_tags,metadata"


def read_k6(job: Job, *rows: str, rate_per_s: int | None = None) -> list[Call]:
    """Return what is read of a CSV of k6's with these rows."""
    job.output.write_text("\n".join((K6_HEADER, *rows)), encoding="utf-8")
    return K6().read_calls(dataclasses.replace(job, cell=dataclasses.replace(CELL, rate_per_s=rate_per_s)))


def test_k6_s_request_holds_its_connecting(job: Job) -> None:
    """Its duration leaves it out; a request without a reply has the words of its error."""
    calls = read_k6(
        job,
        "http_reqs,1000000009000000,1,,,users.get,200,,",
        "http_req_duration,1000000009000000,5.5,,,users.get,200,,",
        "http_req_blocked,1000000009000000,9,,,users.get,200,,",
        "http_req_connecting,1000000009000000,1,,,users.get,200,,",
        "http_req_tls_handshaking,1000000009000000,0.5,,,users.get,200,,",
        "http_req_duration,1000000010000000,1,,1404,users.get,404,,",
        "http_req_duration,1000000011000000,2,request timeout,1050,users.get,0,,",
        "http_req_duration,1000000012000000,0,dial: connection refused,1212,users.get,0,,",
    )
    assert [7_000_000, 1_000_000, 2_000_000, 0] == [call.latency_ns for call in calls]
    assert 1_000_000_009_000_000 == calls[0].end_unix_ns
    expected = [
        ("ok", ""),
        ("not_found", "HTTP 404"),
        ("deadline_exceeded", "request timeout"),
        ("unavailable", "dial: connection refused"),
    ]
    assert expected == [(call.code, call.error) for call in calls]
    assert {None} == {call.response_ns for call in calls}


def test_k6_s_rate_is_measured_from_when_requests_were_due(job: Job) -> None:
    """The request that waited least was sent at once. What k6 drops leaves its place."""
    first, dropped, last = read_k6(
        job,
        "http_req_duration,1002700000,2,,,users.get,200,,",
        "dropped_iterations,1010800000,1,,,,,,",
        "http_req_duration,1024200000,3,,,users.get,200,,",
        rate_per_s=100,
    )
    assert (2_000_000, DROPPED, 3_500_000) == (first.response_ns, dropped.code, last.response_ns)


def detail(end_ms: int, latency_ms: float = 1.0, status: str = "OK", error: str = "") -> dict[str, Any]:
    """Return a call of ghz's that ended so long after 12:00:00."""
    timestamp = f"2026-01-01T12:00:{end_ms // 1000:02d}.{end_ms % 1000:03d}000000Z"
    return {"timestamp": timestamp, "latency": round(latency_ms * 1e6), "error": error, "status": status}


def read_ghz(job: Job, *details: dict[str, Any]) -> Sequence[Call]:
    """Return what is read of these details."""
    job.output.write_text(json.dumps({"details": details}))
    return Ghz().read_calls(job)


def test_a_detail_of_ghz_is_a_call(job: Job) -> None:
    """Ends, latencies and outcomes are those of the details; codes that histogram files don't have are unknown."""
    late = detail(1700, 9, "DeadlineExceeded", "context deadline exceeded")
    first, second, third = read_ghz(job, detail(1, 2.5), late, detail(1700, 9, "Unauthenticated", "no token"))
    assert ("ok", "", 2_500_000) == (first.code, first.error, first.latency_ns)
    assert ("deadline_exceeded", "context deadline exceeded") == (second.code, second.error)
    assert 1_699_000_000 == second.end_unix_ns - first.end_unix_ns
    assert "unknown" == third.code


def test_a_load_at_the_limit_of_ghz_s_details_is_rejected(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool drops details silently at its limit; a result that met it is no result."""
    monkeypatch.setattr(ghz_module, "DETAILS_MAX", 3)
    with pytest.raises(WirebenchError, match="kept no more"):
        read_ghz(job, detail(1), detail(2), detail(3))


def test_ghz_has_as_many_connections_as_users(job: Job) -> None:
    """Its default of one connection for all workers is never used; a load without a rate has no limit."""
    cell = dataclasses.replace(jobs.CELL, rate_per_s=50)
    plain, paced = (dataclasses.replace(job, cell=each) for each in (jobs.CELL, cell))
    assert "--rps" not in Ghz().build_arguments(plain)
    given: dict[Any, Any] = dict(itertools.pairwise(Ghz().build_arguments(paced)))
    assert ("50", "16", "16") == (given["--rps"], given["--connections"], given["--concurrency"])
    assert "wait" == given["--duration-stop"]


def call(end_ms: int, latency_ms: int = 1, code: str = "ok", error: str = "", response_ms: int | None = None) -> Call:
    """Return a request by its times in milliseconds."""
    return Call(end_ms * MS, latency_ms * MS, code, error, None if response_ms is None else response_ms * MS)


def folded(*calls: Call) -> HistogramFile:
    """Fold after half a second of warm-up, in a window of one second."""
    job = dataclasses.replace(JOB, load=Load(warmup_s=0.5, window_s=1.0))
    return fold(calls, job, DriverVersion(name="oha", version="0"))


def test_the_window_opens_after_the_warmup() -> None:
    """Requests that end in the warm-up, or after the window, are counted but not measured."""
    # The first one was sent at 0 ms: the window is 500 to 1500 ms.
    file = folded(call(1), call(499), call(500, 2), call(1499, 4), call(1500))
    assert {"ok": 5} == file.requests_total
    assert {"ok": 2} == file.count_by_code()
    assert 2_000_000 == pytest.approx(file.merge_histograms("service").compute_quantiles_ns(0)[0], rel=1e-3)


def test_no_call_is_an_error() -> None:
    """A load that sent nothing has no result."""
    with pytest.raises(WirebenchError, match="oha made no call"):
        folded()


def test_response_times_have_a_clock_of_their_own() -> None:
    """What waited to be sent took longer for a user than for the service."""
    file = folded(call(1, response_ms=1), call(600, response_ms=5))
    assert [1.0, 5.0] == [
        pytest.approx(file.merge_histograms(clock).mean_ns / MS, rel=1e-3) for clock in ("service", "response")
    ]


@pytest.mark.parametrize(("limit_per_s", "expected_per_s"), [(1000, 32), (None, None)])
def test_streams_with_a_rate_limit_start_spread(limit_per_s: int | None, expected_per_s: float | None) -> None:
    """Streams that started together would wait at the same moments."""
    streaming = dataclasses.replace(
        jobs.JOB.cell, operation="ledger.stream_transactions", driver="wireload", stream_items=100
    )
    job = dataclasses.replace(jobs.JOB, cell=dataclasses.replace(streaming, stream_rate_limit_per_s=limit_per_s))
    assert expected_per_s == describe_job(job)["spawn_rate_per_s"]


@pytest.mark.parametrize(
    ("load", "levels", "expected"),
    [
        # It begins with the connections of its cell, and may open more.
        (Load(model="open", concurrency_max=64), {"rate_per_s": 100}, {"concurrency": 8, "concurrency_max": 64}),
        (Load(model="open"), {"rate_per_s": 100}, {"concurrency_max": None}),
        # Where a sweep ends is nothing to one of its cells.
        (Load(model="sweep", concurrency_max=64), {}, {"concurrency_max": None}),
        # HTTP/2 is spoken without TLS; each user has a connection, unless they share some.
        (Load(), {}, {"h2c": False, "connections": None}),
        (Load(), {"http": 2, "connections": 4}, {"h2c": True, "connections": 4}),
    ],
)
def test_a_job_says_which_connections_there_are(
    load: Load, levels: dict[str, object], expected: dict[str, object]
) -> None:
    """They are those of the load and of the cell."""
    described = describe_job(dataclasses.replace(jobs.JOB, cell=jobs.cell("rest", "wireload", **levels), load=load))
    assert expected.items() <= described.items()
