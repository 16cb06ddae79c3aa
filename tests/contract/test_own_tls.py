"""Variants that speak TLS: waited for, verified and measured as others are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import certificates
from tests.support.runs import first_lane, needs_tools, only_run, wirebench
from tests.support.waiting import TIMEOUT_S

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
    ready_timeout_s: TIMEOUT
    tls: {authority: AUTHORITY}
  grpc:
    transport: grpc
    start: BIN/wirebench-grpc --port {port} --admin-port {admin_port} FLAGS
    ready: health
    ready_timeout_s: TIMEOUT
    tls: {authority: AUTHORITY}
"""
SCENARIO = """\
question: Is gRPC faster than REST over TLS?
application: secured.yaml
factors: {variant: [VARIANTS], concurrency: 2}
load: {warmup_s: 0.2, window_s: 0.5}
blocks: 1
"""


def measure(
    folder: Path, variants: str, authority: str = "theirs.crt", timeout_s: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run services with a certificate that is its own authority."""
    theirs, _ = certificates.make(folder, "theirs"), certificates.make(folder, "ours")
    flags = " ".join(map(str, theirs.flags))
    text = APPLICATION.replace("BIN", str(Path(sys.executable).parent)).replace("FLAGS", flags)
    text = text.replace("AUTHORITY", authority).replace("TIMEOUT", str(timeout_s))
    (folder / "secured.yaml").write_text(text, encoding="utf-8")
    (folder / "is-it.yaml").write_text(SCENARIO.replace("VARIANTS", variants), encoding="utf-8")
    return wirebench("run", folder / "is-it.yaml", "--no-calibrate", "--out", folder / "results")


def test_variants_are_measured_over_tls(tmp_path: Path) -> None:
    """Also their readiness, gRPC's reflection and the verification speak it, by the file beside the application's."""
    done = measure(tmp_path, "rest, grpc")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert (20, ()) == (run.info.conformance_requests, run.info.conformance_mismatches)
    assert {("rest", "server"), ("grpc", "server")} == {
        (record.factors["variant"], record.factors["tls"]) for record in run.records
    }
    assert all(record.requests > 0 and not record.errors for record in run.records)
