"""Live metrics: what a load pushes to Prometheus for the dashboards (grafana/README.md).

wireload and k6 push while they run. For other drivers, which don't, each part of their load is pushed when it has
ended, to the receiver of the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/, the JSON form.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from wirebench.drivers.calls import Call
from wirebench.errors import UsageError
from wirebench.model.histogram_file import OK, Window
from wirebench.system.http import fetch

OTLP = "/api/v1/otlp/v1/metrics"
_REPLY_BYTES_MAX = 500
_SECOND_NS = 1_000_000_000
#: Of the proto of OTLP: AGGREGATION_TEMPORALITY_CUMULATIVE, and the flag of a point that says that there is no value.
#: Prometheus makes a stale marker of it, so that lines end with the load and not five minutes later.
_CUMULATIVE = 2
_NO_VALUE = 1
#: Each bucket is 9 % wider than the one before, as those of k6 and wireload are.
_SCALE = 3
#: How k6 names what it times on each transport, and the status that is a success.
_NAMES = {"rest": "http", "grpc": "grpc"}
_SUCCESS = {"rest": "200", "grpc": "0"}


@dataclass(slots=True)
class MetricsPush:
    """A Prometheus that takes OTLP, and what the load's series are labelled with.

    A load continues without it. `problem` is why a push failed; empty if none did.
    """

    url: str
    labels: Mapping[str, str]
    problem: str = ""

    def push(self, calls: Sequence[Call], window: Window, labels: Mapping[str, str]) -> None:
        """Push the requests of a window that has ended; what goes wrong is kept in `problem`."""
        metrics = to_otlp(calls, window, {**self.labels, **labels})
        self.problem = _post(self.url + OTLP, metrics) or self.problem


def parse_base_url(text: str, name: str) -> str:
    """Return the base URL of a server of that name. Raises UsageError, without the text: it may have a password."""
    try:
        parts = urlsplit(text)
        is_base = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        is_base = is_base and not ("@" in text or parts.query or parts.fragment)
    except ValueError:  # of brackets and ports
        is_base = False
    if not is_base:
        raise UsageError(f"not the URL of a {name}", "write it like http://127.0.0.1:9090, without user and password")
    return text.rstrip("/")


def check_receiver(url: str) -> None:
    """Push nothing to a Prometheus. Raises UsageError if it isn't there or takes no pushes."""
    if problem := _post(url + OTLP, {"resourceMetrics": []}):
        raise UsageError(
            f"can't push live metrics: {problem}",
            "start Prometheus with --web.enable-otlp-receiver, or correct or leave out its URL; nothing was started",
        )


def _post(url: str, metrics: dict[str, Any]) -> str:
    """Return why a Prometheus didn't take a push; empty if it did."""
    try:
        reply = fetch(url, json.dumps(metrics).encode())
    except OSError as error:
        return f"{url}: {error}"
    if reply.status // 100 == 2:  # noqa: PLR2004 - 2xx
        return ""
    return f"{url}: {reply.status}: {reply.body[:_REPLY_BYTES_MAX].decode(errors='replace').strip()}"


def to_otlp(calls: Sequence[Call], window: Window, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the requests of a window as OTLP: one histogram by outcome, which grows second by second.

    In Prometheus it has the name that wireload gives its own, with the driver as a label. The label `status` is
    what those have for a success, and otherwise the outcome in the words of docs/histogram-file.md.
    """
    transport = labels["transport"]
    by_code = defaultdict[str, list[Call]](list)
    for call in calls:
        if window.start_unix_ns <= call.end_unix_ns < window.end_unix_ns:
            by_code[call.code].append(call)
    points: list[dict[str, Any]] = []
    for code, own in by_code.items():
        named = {**labels, "status": _SUCCESS[transport] if code == OK else code}
        attributes = [{"key": name, "value": {"stringValue": value}} for name, value in named.items()]
        points += ({"attributes": attributes, **point} for point in _build_points(own, window))
    histogram = {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}
    metric = {"name": f"k6_{_NAMES[transport]}_req_duration", "unit": "s", "exponentialHistogram": histogram}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


def _build_points(calls: Sequence[Call], window: Window) -> Iterator[dict[str, Any]]:
    """Yield the histogram at each second; it begins with nothing, as a counter's first value is no increase."""
    ends_unix_ns = np.array([call.end_unix_ns for call in calls])
    seconds = np.maximum([call.latency_ns for call in calls], 1) / 1e9
    buckets = np.ceil(np.log2(seconds) * 2**_SCALE).astype(int) - 1
    offset = int(buckets.min())
    for time_ns in (*range(window.start_unix_ns, window.end_unix_ns, _SECOND_NS), window.end_unix_ns):
        so_far = ends_unix_ns < time_ns
        yield {
            "timeUnixNano": str(time_ns),
            "count": str(int(so_far.sum())),
            "sum": float(seconds[so_far].sum()),
            "scale": _SCALE,
            "positive": {"offset": offset, "bucketCounts": np.bincount(buckets[so_far] - offset).tolist()},
        }
    # A millisecond after its last value: Prometheus has no times that are finer.
    yield {"timeUnixNano": str(window.end_unix_ns + 1_000_000), "flags": _NO_VALUE}
