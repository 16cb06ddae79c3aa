"""k6: drives REST, to cross-check wireload, by the script k6/rest.js.

Read from its source (v2.2.0), and found by running it: `http_req_duration` leaves out connecting; requests that get no
reply have a duration too, and the status 0; under `constant-arrival-rate`, what is due while all users wait is dropped,
and a script learns the start of its scenario in whole milliseconds. k6 is AGPL-3.0: it is run as a program.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np

from wirebench.drivers import per_request
from wirebench.drivers.driver import SETUP_CROSS_CHECK, Job
from wirebench.drivers.metrics_push import REMOTE_WRITE
from wirebench.drivers.per_request import CallArrays, Outcome, Part, PerRequestDriver
from wirebench.errors import WirebenchError
from wirebench.system.files import write_atomic
from wirebench.system.paths import K6_SCRIPT, TOOLS

_TIMEOUT_S = 10.0
#: k6 takes no shorter duration.
_DURATION_S_MIN = 1.0
#: k6's codes of errors: https://grafana.com/docs/k6/latest/javascript-api/error-codes/
_TIMEOUTS = frozenset({"1050", "1211"})
_CONNECTING = frozenset({"http_req_connecting", "http_req_tls_handshaking"})


class K6(PerRequestDriver):
    """Runs k6 for a time and reads its CSV."""

    name = "k6"
    path = TOOLS / "k6"
    setup = SETUP_CROSS_CHECK
    version_flag = "version"
    push_failure = "Failed to send the time series data"

    def build_environment(self, job: Job) -> dict[str, str]:
        environment = {
            "K6_AUTO_EXTENSION_RESOLUTION": "false",
            "K6_CSV_TIME_FORMAT": "unix_nano",
            # REST is HTTP/1.1, over TLS too, with the same key exchange as other drivers'.
            "GODEBUG": "http2client=0,tlsmlkem=0",
        }
        if job.tls and job.tls.authority:  # k6 has no option for it
            environment |= {"SSL_CERT_FILE": str(job.tls.authority.absolute()), "SSL_CERT_DIR": "/nonexistent"}
        if job.metrics_push:  # the output has no flags
            environment |= {
                "K6_PROMETHEUS_RW_SERVER_URL": job.metrics_push.url + REMOTE_WRITE,
                "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
                "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
                # Lines end with the load, and not five minutes later.
                "K6_PROMETHEUS_RW_STALE_MARKERS": "true",
            }
        return environment

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        cell = job.cell
        requests = (part.folder / "requests.json").absolute()
        write_atomic(requests, json.dumps([job.operation.request_rest(inputs) for inputs in job.draw_inputs()]))
        scheme = "https" if job.tls else "http"
        settings = {
            "URL": ",".join(f"{scheme}://{address}" for address in job.replicas or (job.address,)),
            "REQUESTS": requests,
            "CONCURRENCY": cell.concurrency,
            "DURATION": f"{round(1000 * max(part.duration_s, _DURATION_S_MIN))}ms",
            "RATE": cell.rate_per_s,
            "TIMEOUT": f"{round(1000 * (job.load.timeout_s or _TIMEOUT_S))}ms",
            "REOPEN": "yes" if cell.connection == "reopen" else None,
            "SEED": job.seed,
            "NAME": cell.operation,
        }
        arguments: list[str | Path] = [self.path, "run", "--quiet", "--summary-mode=disabled", "--no-usage-report"]
        # The caller's environment is not ours: a variable called URL must not change the load.
        arguments += ["--include-system-env-vars=false", "--out", f"csv={part.output}"]
        if job.metrics_push:
            arguments += ["--out", "experimental-prometheus-rw"]
            for name, value in job.metrics_push.labels.items():
                arguments += ["--tag", f"{name}={value}"]
        for name, setting in settings.items():
            arguments += [] if setting is None else ["-e", f"{name}={setting}"]
        return [*arguments, K6_SCRIPT]

    def read(self, job: Job, part: Part) -> CallArrays:
        try:
            return read_calls(part.output, job.cell.rate_per_s)
        except (OSError, ValueError, LookupError) as error:
            raise WirebenchError(f"can't read k6's requests: {part.output}: {error}", "see its log") from error


def read_calls(path: Path, rate_per_s: int | None) -> CallArrays:
    """Read the requests of a CSV output.

    A request's samples stand together, `http_req_duration` before its `http_req_connecting`. Raises OSError, ValueError
    or LookupError.
    """
    ends, latencies_ms, orders, outcomes, dropped = (
        list[int](),
        list[float](),
        list[str](),
        list[Outcome](),
        list[int](),
    )
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        place = {name: number for number, name in enumerate(next(rows, ()))}
        status, code, error, metadata = (place[name] for name in ("status", "error_code", "error", "metadata"))
        for row in rows:
            name = row[0]
            if name == "http_req_duration":
                ends.append(int(row[1]))
                latencies_ms.append(float(row[2]))
                outcomes.append(classify_reply(row[status], row[code], row[error]))
                orders.append(row[metadata])
            elif name in _CONNECTING:
                latencies_ms[-1] += float(row[2])
            elif name == "dropped_iterations":
                dropped.append(int(row[1]))
    calls = CallArrays.of(
        ends_unix_ns=np.array(ends, dtype=np.int64),
        latencies_ns=np.round(np.array(latencies_ms, dtype=float) * 1e6).astype(np.int64),
        outcomes=outcomes,
    )
    if rate_per_s is None or not ends:
        return calls
    # Whenever something is due, k6 sends a request or drops one. How many of both came before a request is its place.
    starts_ms, numbers = zip(*(each.removeprefix("order=").split("+") for each in orders), strict=True)
    sent_ns = calls.ends_unix_ns - calls.latencies_ns
    places = np.array(numbers, dtype=np.int64) + np.searchsorted(np.array(dropped, dtype=np.int64), sent_ns)
    waits_ns = sent_ns - int(starts_ms[0]) * 1_000_000 - np.round(places * 1e9 / rate_per_s).astype(np.int64)
    # The start is in whole milliseconds, up to one too early: who waited least was sent at once.
    responses_ns = calls.latencies_ns + waits_ns - waits_ns.min()
    return dataclasses.replace(calls, responses_ns=responses_ns, dropped=len(dropped))


def classify_reply(status: str, error_code: str, error: str) -> Outcome:
    """Return the outcome of a request; one that got no reply has the status 0."""
    if status != "0":
        return per_request.classify_http(int(status))
    return per_request.DEADLINE_EXCEEDED if error_code in _TIMEOUTS else per_request.UNAVAILABLE, error
