"""Variants that speak TLS: waited for, verified and measured as others are."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support import certificates
from tests.support.runs import first_lane, needs_tools, only_run, wirebench

pytestmark = [needs_tools, first_lane]

APPLICATION = """\
application: secured
operations:
  get:
    inputs: {id: {range: [1000001, 1000100]}}
    rest: {request: "GET /api/users/{id}", expect: {json: {data.id: "{id}"}}}
    grpc: {call: wirebench.v1.UserService/GetUser, message: {id: "{id}"}, expect: {data.id: "{id}"}}
    same: {rest: data.email, grpc: data.email}
variants:
  rest:
    transport: rest
    start: BIN/wirebench-rest --port {port} --admin-port {admin_port} FLAGS
    ready: GET /api/users/1000001
    tls: {authority: theirs.ca}
  grpc:
    transport: grpc
    start: BIN/wirebench-grpc --port {port} --admin-port {admin_port} FLAGS
    ready: health
    tls: {authority: theirs.ca}
"""
SCENARIO = """\
question: Is gRPC faster than REST over TLS?
application: secured.yaml
factors: {variant: [rest, grpc], concurrency: 2}
load: {warmup_s: 0.2, window_s: 0.5}
blocks: 1
"""


def test_variants_are_measured_over_tls(tmp_path: Path) -> None:
    """Also their readiness, gRPC's reflection and the verification speak it, by the file beside the application's."""
    flags = " ".join(map(str, certificates.make(tmp_path, "theirs").flags))
    text = APPLICATION.replace("BIN", str(Path(sys.executable).parent)).replace("FLAGS", flags)
    (tmp_path / "secured.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "is-it.yaml").write_text(SCENARIO, encoding="utf-8")
    done = wirebench("run", tmp_path / "is-it.yaml", "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert (20, ()) == (run.info.conformance_requests, run.info.conformance_mismatches)
    assert {("rest", "server"), ("grpc", "server")} == {
        (record.factors["variant"], record.factors["tls"]) for record in run.records
    }
    assert all(record.requests > 0 and not record.errors for record in run.records)
