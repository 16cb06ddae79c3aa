"""What k6 is told, and what is made of its CSV."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tests.support.report_run import cell
from wirebench.drivers import K6, Job
from wirebench.drivers.calls import Report
from wirebench.drivers.replay import render
from wirebench.errors import WirebenchError
from wirebench.model.scenario import Load
from wirebench.system.tls import ClientTls

JOB = Job(cell("rest", driver="k6"), Load(), "127.0.0.1:9", 1, 1, Path("o.json"), Path("o.log"), None)
HEADER = "metric_name,timestamp,metric_value,error,error_code,name,status,extra_tags,metadata"


def read_csv(folder: Path, *rows: str, rate_per_s: int | None = None) -> Report:
    """Return what is read of a CSV of k6's with these rows."""
    job = dataclasses.replace(JOB, output=folder / "calls", cell=dataclasses.replace(JOB.cell, rate_per_s=rate_per_s))
    job.output.write_text("\n".join((HEADER, *rows)), encoding="utf-8")
    return K6().read(job)


def test_k6_is_told_the_load(tmp_path: Path) -> None:
    """A duration is a second at least; users take the addresses of replicas in turn, over TLS if the service has it."""
    load = Load(warmup_s=0.1, window_s=0.5)
    job = dataclasses.replace(
        JOB, load=load, output=tmp_path / "calls", replicas=("a:1", "b:2"), tls=ClientTls(Path("/ca.pem"))
    )
    arguments = list(map(str, K6().build_arguments(job, render(job))))
    assert {"URL=https://a:1,https://b:2", "CONCURRENCY=16", "DURATION=1000ms", "NAME=users.get"} <= {*arguments}
    assert not any(each.startswith(("RATE=", "REOPEN=")) for each in arguments)
    assert "/ca.pem" == K6().build_environment(job)["SSL_CERT_FILE"]
    given = json.loads((tmp_path / "requests.jsonl").read_text().partition("\n")[0])
    assert ("GET", None) == (given["method"], given.get("body"))
    assert given["path"].startswith("/api/users/10")


def test_a_request_holds_its_connecting(tmp_path: Path) -> None:
    """k6's duration leaves it out; a request without a reply has the words of its error."""
    calls, _ = read_csv(
        tmp_path,
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


def test_a_rate_is_measured_from_when_requests_were_due(tmp_path: Path) -> None:
    """k6 tells the start in whole milliseconds: who waited least was sent at once. What it drops leaves its place."""
    calls, dropped = read_csv(
        tmp_path,
        "http_req_duration,1002700000,2,,,users.get,200,,order=1000+0",
        "dropped_iterations,1010800000,1,,,,,,",
        "http_req_duration,1024200000,3,,,users.get,200,,order=1000+1",
        rate_per_s=100,
    )
    assert ([2_000_000, 3_500_000], 1) == ([call.response_ns for call in calls], dropped)


@pytest.mark.parametrize("text", ["", "x,y\n", f"{HEADER}\nhttp_req_duration,x,1,,,,200,,\n"])
def test_a_result_that_is_none_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """One line says what could not be read."""
    written = tmp_path / "out.k6-0/calls"
    monkeypatch.setattr(K6, "carry_out", lambda *_: written.write_text(text, encoding="utf-8"))
    with pytest.raises(WirebenchError, match="can't read what k6 reported"):
        K6().run(dataclasses.replace(JOB, output=tmp_path / "out.json"), lambda _: None)
