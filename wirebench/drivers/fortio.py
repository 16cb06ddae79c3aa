"""fortio: drives REST and gRPC, to cross-check k6. docs/decisions/012 says why it is built from fortio/ here.

Read from its source (v1.75.3), and found by running it: it can't vary a request, so that all of them ask for one and
the same user; it gives up if a first request fails, and tells no more of a failure than an HTTP status (-1: no reply)
or the text of a gRPC error; before its load it makes one HTTP request on each connection, which it counts nowhere; a
fixed rate is measured from the actual send. Over gRPC its messages are dynamic, and it writes each reply as text before
it stops the clock.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from wirebench import processes
from wirebench.drivers import codes
from wirebench.drivers.calls import Calls, Outcome, read_columns
from wirebench.drivers.driver import Job
from wirebench.drivers.every_call import EveryCall, Part, rest_url, tls_flags
from wirebench.drivers.histogram_file import OK
from wirebench.drivers.requests import draw_inputs, operation_of
from wirebench.files import write_whole
from wirebench.places import TOOLS

_NO_REPLY = "-1"
_GRPC_OK = "SERVING"
_GRPC_ERROR = re.compile(r"rpc error: code = (?P<code>\w+) desc = (?P<text>.*)", re.DOTALL)


class Fortio(EveryCall):
    """Runs fortio's runners for a time and reads what they have called."""

    name = "fortio"
    setup = "make driver-fortio"

    def path(self) -> Path:
        """Where our build of fortio is."""
        return TOOLS / "fortio"

    def version(self) -> str | None:
        """Return fortio's version, or None if it isn't installed."""
        text = processes.capture([self.path(), "-version"])
        return text.removeprefix("v") if text else None

    def arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Return the command line, which can be repeated by hand."""
        flags: list[str | Path] = [
            "-connections",
            str(job.cell.concurrency),
            "-duration",
            f"{part.duration_s:.3f}s",
            "-calls",
            _output(part),
            *tls_flags(job.tls),
        ]
        return [self.path(), *flags, *_request(job, part)]

    def read(self, job: Job, part: Part) -> Calls:
        """Read what was called. Raises WirebenchError."""
        if job.cell.transport == "grpc":
            return read_columns(_output(part), of_grpc)
        return dataclasses.replace(read_columns(_output(part), of_http), outside=job.cell.concurrency)


def _output(part: Part) -> Path:
    return part.folder / "calls.json"


def _request(job: Job, part: Part) -> list[str | Path]:
    """Return the flags that say what is sent: the first of the requests that other drivers choose from."""
    cell, operation, inputs = job.cell, operation_of(job), draw_inputs(job)[0]
    payload = part.folder / "payload.json"
    if cell.transport == "grpc" and operation.grpc:
        write_whole(payload, json.dumps(operation.request_grpc(inputs)))
        target = f"https://{job.address}" if job.tls else job.address
        return ["-target", target, "-grpc-method", operation.grpc.call, "-payload", payload]
    request = operation.request_rest(inputs)
    flags: list[str | Path] = ["-target", f"{rest_url(job)}{request.path}"]
    if request.body:
        write_whole(payload, request.body)
        flags += ["-payload", payload]
    return [*flags, "-keepalive=false"] if cell.connection == "reopen" else flags


def of_http(outcome: str) -> Outcome:
    """Understand fortio's outcome of an HTTP request: its status."""
    if outcome == _NO_REPLY:
        return codes.UNAVAILABLE, "no reply"
    code = codes.of_http(int(outcome))
    return code, "" if code == OK else f"HTTP {outcome}"


def of_grpc(outcome: str) -> Outcome:
    """Understand fortio's outcome of a gRPC call: the word that it has for success, or the error's text."""
    if outcome == _GRPC_OK:
        return OK, ""
    error = _GRPC_ERROR.search(outcome)
    return (codes.of_grpc(error["code"]), error["text"]) if error else (codes.UNKNOWN, outcome)
