"""Live metrics: what Prometheus is told of a load, and what becomes of the load if it can't be told."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from http.server import HTTPServer
from typing import Any

import pytest

from tests.support.http_servers import QuietHandler, serving
from wirebench.drivers.calls import Call
from wirebench.drivers.metrics_push import MetricsPush, check_receiver, parse_base_url, to_otlp
from wirebench.errors import UsageError
from wirebench.model.histogram_file import Window

LABELS = {"namespace": "lab", "pod": "load-0", "node": "a", "transport": "grpc"}
START_NS = 1_790_000_000_250_000_000
MS = 1_000_000
WINDOW = Window(start_unix_ns=START_NS, end_unix_ns=START_NS + 2500 * MS)
#: What ghz measured: a success in the first second, a failure in the second, two successes in the third; and one before
#: the window.
CALLS = [
    Call(START_NS - 10 * MS, 5 * MS),
    Call(START_NS + 900 * MS, 1 * MS),
    Call(START_NS + 1500 * MS, 7 * MS, "not_found"),
    Call(START_NS + 2100 * MS, 2 * MS),
    Call(START_NS + 2400 * MS, 30 * MS),
]


def read_points(transport: str = "grpc") -> dict[str, list[dict[str, Any]]]:
    """Return the points that Prometheus gets, by status; their attributes as a mapping."""
    labels = {**LABELS, "transport": transport, "driver": "ghz", "name": "users.get"}
    ((scope,),) = (each["scopeMetrics"] for each in to_otlp(CALLS, WINDOW, labels)["resourceMetrics"])
    (metric,) = scope["metrics"]
    assert {"grpc": "k6_grpc_req_duration", "rest": "k6_http_req_duration"}[transport] == metric["name"]
    by_status: dict[str, list[dict[str, Any]]] = {}
    for point in metric["exponentialHistogram"]["dataPoints"]:
        attributes = {each["key"]: each["value"]["stringValue"] for each in point["attributes"]}
        by_status.setdefault(attributes.pop("status"), []).append(point)
        assert labels == attributes
    return by_status


def test_requests_are_counted_up_second_by_second_by_outcome() -> None:
    """A histogram begins with nothing at the window's start, is at its end what was counted, and is ended there."""
    points = read_points()
    assert {"0", "not_found"} == points.keys()
    assert {"200", "not_found"} == read_points("rest").keys()
    assert ["0", "1", "1", "3"] == [point["count"] for point in points["0"][:-1]]
    assert ["0", "0", "1", "1"] == [point["count"] for point in points["not_found"][:-1]]
    assert [0, 1000, 2000, 2500, 2501] == [(int(point["timeUnixNano"]) - START_NS) // MS for point in points["0"]]
    assert [None] * 4 + [1] == [point.get("flags") for point in points["0"]]


def test_each_latency_is_in_its_bucket() -> None:
    """Bucket n of scale s holds what is longer than 2^(n/2^s) seconds, up to 2^((n+1)/2^s)."""
    *_, last, _ = read_points()["0"]
    assert pytest.approx(0.033) == last["sum"]
    offset, counts = last["positive"]["offset"], last["positive"]["bucketCounts"]
    held = [(2 ** ((offset + n) / 8), 2 ** ((offset + n + 1) / 8)) for n, count in enumerate(counts) if count]
    assert 3 == sum(counts)
    for latency_s, (low, high) in zip((0.001, 0.002, 0.03), held, strict=True):
        assert low < latency_s <= high


@contextlib.contextmanager
def receiver() -> Iterator[str]:
    """Run a Prometheus that takes no metrics; yield its URL."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(404, b"otlp write receiver is off")

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}"


def test_a_receiver_that_is_off_is_told_in_its_own_words() -> None:
    """A run that starts is rejected; a load that runs continues, and keeps the problem to be reported."""
    with receiver() as url:
        said = f"{url}/api/v1/otlp/v1/metrics: 404: otlp write receiver is off"
        with pytest.raises(UsageError, match=re.escape(f"can't push live metrics: {said}")):
            check_receiver(url)
        live = MetricsPush(url, LABELS)
        live.push(CALLS, WINDOW, {})
        assert said == live.problem


def test_the_url_of_a_prometheus_is_its_base() -> None:
    """A path in front of the API may be part of it; a slash at its end is not."""
    assert "http://127.0.0.1:9090" == parse_base_url("http://127.0.0.1:9090/", "Prometheus")
    assert "https://metrics.example/prometheus" == parse_base_url("https://metrics.example/prometheus", "Prometheus")


@pytest.mark.parametrize(
    "text", ["", "localhost:9090", "127.0.0.1", "ftp://a", "http://", "http://a?b=c", "http://u:p@a", "http://[::1"]
)
def test_what_is_no_url_of_a_prometheus_is_rejected(text: str) -> None:
    """Passwords too: a run's files and messages would repeat them, and so must not the error."""
    with pytest.raises(UsageError) as error:
        parse_base_url(text, "Prometheus")
    assert "u:p" not in error.value.message
