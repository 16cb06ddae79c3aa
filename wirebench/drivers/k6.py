"""k6: drives REST, to cross-check wireload, by the script k6/rest.js.

Read from its source (v2.2.0), and found by running it: `http_req_duration` leaves out connecting; requests that get no
reply have a duration too, and the status 0; under `constant-arrival-rate`, what is due while all users wait is dropped.
Its OpenTelemetry output pushes histograms in milliseconds, exponential if told so, and doesn't end its series. k6 is
AGPL-3.0: it is run as a program.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from wirebench.drivers.driver import OTLP, SETUP_CROSS_CHECK, Job
from wirebench.drivers.replay import DROPPED, Call, ReplayDriver, classify_http, compute_duration_s, write_requests
from wirebench.system.paths import K6_SCRIPT, TOOLS

#: k6's codes of errors: https://grafana.com/docs/k6/latest/javascript-api/error-codes/
_TIMEOUTS = frozenset({"1050", "1211"})
_CONNECTING = frozenset({"http_req_connecting", "http_req_tls_handshaking"})


class K6(ReplayDriver):
    """Runs k6 for a time and reads its CSV."""

    name = "k6"
    path = TOOLS / "k6"
    setup = SETUP_CROSS_CHECK

    def build_arguments(self, job: Job) -> list[str | Path]:
        environment = {
            "K6_CSV_TIME_FORMAT": "unix_nano",
            # REST is HTTP/1.1, over TLS too, with the same key exchange as other drivers'.
            "GODEBUG": "http2client=0,tlsmlkem=0",
        }
        if job.tls and job.tls.authority:  # k6 has no option for it
            environment |= {"SSL_CERT_FILE": str(job.tls.authority.absolute()), "SSL_CERT_DIR": "/nonexistent"}
        options = [("--out", f"csv={job.output}")]
        if job.metrics_push:
            labels = {**job.metrics_push.labels, "driver": self.name}
            options += [("--out", "opentelemetry"), *(("--tag", f"{name}={value}") for name, value in labels.items())]
            # The output has no flags.
            receiver = urlsplit(job.metrics_push.url + OTLP)
            environment |= {
                "K6_OTEL_EXPORTER_PROTOCOL": "http/protobuf",
                "K6_OTEL_HTTP_EXPORTER_INSECURE": str(receiver.scheme == "http").lower(),
                "K6_OTEL_HTTP_EXPORTER_ENDPOINT": receiver.netloc,
                "K6_OTEL_HTTP_EXPORTER_URL_PATH": receiver.path,
                "K6_OTEL_METRIC_PREFIX": "k6_",
                "K6_OTEL_EXPORT_INTERVAL": "1s",
                # Prometheus makes native histograms of them.
                "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram",
            }
        settings = {
            "URL": ",".join(replace(job, address=each).rest_url for each in job.replicas or (job.address,)),
            "REQUESTS": write_requests(job),
            "CONCURRENCY": job.cell.concurrency,
            "DURATION": f"{round(1000 * compute_duration_s(job))}ms",
            "RATE": job.cell.rate_per_s,
            "TIMEOUT": f"{round(1000 * job.timeout_s)}ms",
            "REOPEN": "yes" if job.cell.connection == "reopen" else None,
            "SEED": job.seed,
            "NAME": job.cell.operation,
        }
        options += [("-e", f"{name}={setting}") for name, setting in settings.items() if setting is not None]
        # The caller's environment is not ours: a variable called URL must not change the load.
        switches = ["--quiet", "--summary-mode=disabled", "--no-usage-report", "--include-system-env-vars=false"]
        variables = (f"{name}={value}" for name, value in environment.items())
        return ["env", *variables, self.path, "run", *switches, *itertools.chain(*options), K6_SCRIPT]

    def read_calls(self, job: Job) -> list[Call]:
        """Read the CSV; a request's samples stand together, `http_req_duration` before its `http_req_connecting`."""
        calls: list[Call] = []
        with job.output.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)  # hundred thousands of them
            places = {name: place for place, name in enumerate(next(rows, ()))}
            status, code, error = (places[name] for name in ("status", "error_code", "error"))
            for row in rows:
                name = row[0]
                if name == "http_req_duration":
                    outcome = classify_http(int(row[status]), row[error], is_timeout=row[code] in _TIMEOUTS)
                    calls.append(Call(int(row[1]), round(float(row[2]) * 1e6), *outcome))
                elif name in _CONNECTING:
                    latency_ns = calls[-1].latency_ns + round(float(row[2]) * 1e6)
                    calls[-1] = calls[-1]._replace(latency_ns=latency_ns)
                elif name == "dropped_iterations":
                    calls.append(Call(int(row[1]), 0, DROPPED))
        return _time_from_due(calls, job.cell.rate_per_s) if job.cell.rate_per_s else calls


def _time_from_due(calls: Sequence[Call], rate_per_s: int) -> list[Call]:
    """Return calls with their response times: whenever something is due, k6 sends a request or drops one.

    So how many of both came before a request is its place. The request that waited least was sent at once.
    """
    in_order = sorted(calls, key=lambda call: call.end_unix_ns - call.latency_ns)
    waits_ns = [
        call.end_unix_ns - call.latency_ns - round(place * 1e9 / rate_per_s) for place, call in enumerate(in_order)
    ]
    least_ns = min(waits_ns, default=0)
    return [
        call._replace(response_ns=call.latency_ns + wait_ns - least_ns)
        for call, wait_ns in zip(in_order, waits_ns, strict=True)
    ]
