"""Live metrics: what a load pushes to Prometheus for the dashboards (grafana/README.md).

wireload and k6 push while they run. For ghz, which doesn't, each part of its load is pushed when it has
ended, to the receiver of the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/, the JSON form.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from wirebench.errors import UsageError
from wirebench.model.histogram_file import HistogramFile, Window

QUANTILES = (0.5, 0.95, 0.99)
_OTLP = "/api/v1/otlp/v1/metrics"
REMOTE_WRITE = "/api/v1/write"
_TIMEOUT_S = 10.0
_JSON = {"Content-Type": "application/json"}
_PROTOBUF = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
#: Requests without any series. Of remote writes, Snappy's form of no bytes.
_NO_METRICS, _NO_WRITES = b'{"resourceMetrics":[]}', b"\x00"
#: As drivers send their load: past the proxies that the environment may name.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_REPLY_BYTES_MAX = 500
_SECOND_NS = 1_000_000_000
#: Of the proto of OTLP: AGGREGATION_TEMPORALITY_CUMULATIVE, and the flag of a point that says that there is no value.
#: Prometheus makes a stale marker of it, so that lines end with the load and not five minutes later.
_CUMULATIVE = 2
_NO_VALUE = 1


@dataclass(slots=True)
class MetricsPush:
    """A Prometheus that takes remote writes and OTLP, and what the load's series are labelled with.

    A load continues without it. `problem` is why a push failed; empty if none did.
    """

    url: str
    labels: Mapping[str, str]
    problem: str = ""

    def push(self, file: HistogramFile) -> None:
        """Push what was measured in a window that has ended; what goes wrong is kept in `problem`."""
        body = json.dumps(to_otlp(file, self.labels)).encode()
        self.problem = _post(self.url + _OTLP, body, _JSON) or self.problem


def parse_prometheus_url(text: str) -> str:
    """Return the base URL of a Prometheus. Raises UsageError."""
    if "@" in text:
        # Files and messages of a run would repeat it.
        raise UsageError("the URL of a Prometheus can't have a user or password", "use one that takes pushes without")
    try:
        parts = urlsplit(text)
        is_base = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        is_valid = is_base and parts.port != 0
    except ValueError:  # of brackets and ports
        is_valid = False
    if not is_valid:
        raise UsageError(f"{text!r} is not the URL of a Prometheus", "write it like http://127.0.0.1:9090")
    return text.rstrip("/")


def check_receivers(url: str, drivers: Collection[str]) -> None:
    """Push nothing to a Prometheus, as these drivers do. Raises UsageError if it isn't there or takes no pushes."""
    pushes = []
    if set(drivers) - {"k6"}:
        pushes.append((_OTLP, _NO_METRICS, _JSON))
    if "k6" in drivers:
        pushes.append((REMOTE_WRITE, _NO_WRITES, _PROTOBUF))
    for path, body, headers in pushes:
        if problem := _post(url + path, body, headers):
            raise UsageError(
                f"can't push live metrics: {problem}",
                "start Prometheus with --web.enable-otlp-receiver and --web.enable-remote-write-receiver, or correct "
                "or leave out its URL; nothing was started",
            )


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Return why a Prometheus didn't take a push; empty if it did."""
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - http or https: checked
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S):
            return ""
    except HTTPError as error:
        said = error.read(_REPLY_BYTES_MAX).decode(errors="replace").strip()
        return f"{url}: {error.code} {error.reason}: {said}"
    except (OSError, HTTPException) as error:
        return f"{url}: {getattr(error, 'reason', '') or error}"


def to_otlp(file: HistogramFile, labels: Mapping[str, str]) -> dict[str, Any]:
    """Return what a driver measured as OTLP metrics: requests by code second by second, and latency quantiles.

    In Prometheus they are `<driver>_requests_total` and `<driver>_request_duration_seconds`. Only successful requests
    have a latency; the quantiles are those of the whole window, in its every second.
    """
    window, driver = file.require_window(), file.driver.name
    attributes = _build_attributes(labels)
    total = {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True}
    metrics = [
        {"name": f"{driver}.requests", "sum": {**total, "dataPoints": list(_build_counts(file, window, attributes))}},
        {
            "name": f"{driver}.request.duration",
            "unit": "s",
            "gauge": {"dataPoints": list(_build_latencies(file, window, attributes))},
        },
    ]
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}


def _build_counts(file: HistogramFile, window: Window, attributes: list[Any]) -> Iterator[dict[str, Any]]:
    for each in file.per_second:
        own = [*attributes, *_build_attributes({"operation": each.operation, "code": each.code})]
        total = 0
        for second, time_ns in enumerate(_list_seconds(window)):
            # A counter's first value is no increase: it begins with 0, at the window's start.
            total += each.counts[second - 1] if 0 < second <= len(each.counts) else 0
            yield {"attributes": own, "timeUnixNano": str(time_ns), "asInt": str(total)}
        yield _build_end(own, window)


def _build_latencies(file: HistogramFile, window: Window, attributes: list[Any]) -> Iterator[dict[str, Any]]:
    histogram = file.merge_histograms("service")
    if not histogram.count:
        return
    for quantile, value_ns in zip(QUANTILES, histogram.compute_quantiles_ns(*QUANTILES), strict=True):
        own = [*attributes, *_build_attributes({"quantile": str(quantile)})]
        for time_ns in _list_seconds(window):
            yield {"attributes": own, "timeUnixNano": str(time_ns), "asDouble": value_ns / 1e9}
        yield _build_end(own, window)


def _list_seconds(window: Window) -> Iterator[int]:
    yield from range(window.start_unix_ns, window.end_unix_ns, _SECOND_NS)
    yield window.end_unix_ns


def _build_end(attributes: list[Any], window: Window) -> dict[str, Any]:
    """Return the point that ends a series, a millisecond after its last value: Prometheus has none that are finer."""
    return {"attributes": attributes, "timeUnixNano": str(window.end_unix_ns + 1_000_000), "flags": _NO_VALUE}


def _build_attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in labels.items()]
