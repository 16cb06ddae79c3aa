"""fortio: drives REST and gRPC, to cross-check wireload. docs/decisions/008 says why it is built from drivers/fortio/.

Read from its source (v1.75.3), and found by running it: it can't vary a request, so that all of them ask for one and
the same user; it gives up if a first request fails, and reports no more of a failure than an HTTP status (-1: no reply)
or the text of a gRPC error; it looks at no body, not even whether all of it came; before its load it makes one HTTP
request on each connection, which it counts nowhere; a fixed rate is measured from the actual send. Over gRPC its
messages are dynamic, and it writes each reply as text before it stops the clock.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from wirebench.drivers import per_request
from wirebench.drivers.driver import Job
from wirebench.drivers.per_request import CallArrays, Outcome, Part, PerRequestDriver, read_columns
from wirebench.model.histogram_file import OK
from wirebench.system.files import write_atomic
from wirebench.system.paths import TOOLS
from wirebench.system.processes import list_flags

_NO_REPLY = "-1"
_GRPC_OK = "SERVING"
_GRPC_ERROR = re.compile(r"rpc error: code = (?P<code>\w+) desc = (?P<text>.*)", re.DOTALL)


class Fortio(PerRequestDriver):
    """Runs fortio's runners for a time and reads what they have called."""

    name = "fortio"
    path = TOOLS / "fortio"
    version_flag = "-version"
    setup = "make driver-fortio"

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        flags = {"-connections": job.cell.concurrency, "-duration": f"{part.duration_s:.3f}s", "-calls": part.output}
        return [self.path, *list_flags(flags), *job.tls_flags, *_build_request(job, part)]

    def read(self, job: Job, part: Part) -> CallArrays:
        if job.cell.transport == "grpc":
            return read_columns(part.output, classify_grpc)
        return dataclasses.replace(read_columns(part.output, classify_http), outside=job.cell.concurrency)


def _build_request(job: Job, part: Part) -> list[str | Path]:
    """Return the flags that say what is sent: the first of the requests that other drivers choose from."""
    cell, operation, inputs = job.cell, job.operation, job.draw_inputs()[0]
    payload = part.folder / "payload.json"
    if cell.transport == "grpc" and operation.grpc:
        write_atomic(payload, json.dumps(operation.request_grpc(inputs)))
        target = f"https://{job.address}" if job.tls else job.address
        return ["-target", target, "-grpc-method", operation.grpc.call, "-payload", payload]
    request = operation.request_rest(inputs)
    if request.body:
        write_atomic(payload, request.body)
    target = f"{job.rest_url}{request.path}"
    flags = list_flags({"-target": target, "-X": request.method, "-payload": payload if request.body else None})
    return [*flags, "-keepalive=false"] if cell.connection == "reopen" else flags


def classify_http(outcome: str) -> Outcome:
    if outcome == _NO_REPLY:
        return per_request.UNAVAILABLE, "no reply"
    return per_request.classify_http(int(outcome))


def classify_grpc(outcome: str) -> Outcome:
    """Understand fortio's outcome of a gRPC call: the word that it has for success, or the error's text."""
    if outcome == _GRPC_OK:
        return OK, ""
    error = _GRPC_ERROR.search(outcome)
    return (per_request.name_grpc_code(error["code"]), error["text"]) if error else (per_request.UNKNOWN, outcome)
