"""Live metrics: what Prometheus is told of a load, and what becomes of the load if it can't be told."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from http.server import HTTPServer
from typing import Any

import pytest

from tests.support.histogram_files import make_file
from tests.support.http_servers import QuietHandler, serving
from wirebench.drivers.metrics_push import MetricsPush, check_receiver, parse_base_url
from wirebench.errors import UsageError

LABELS = {"namespace": "lab", "pod": "load-0", "node": "a", "transport": "grpc"}


@contextlib.contextmanager
def receiver(status: int, got: list[Any]) -> Iterator[str]:
    """Run a Prometheus that answers pushes with a status; yield its URL."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer(status, b"otlp write receiver is off")

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}"


def test_the_total_of_a_load_is_pushed_when_it_has_ended() -> None:
    """A counter that is nothing at the start and all of it at the end."""
    file = make_file(100 * 10**9, 2, requests_total={"ok": 5, "not_found": 1})
    got: list[Any] = []
    with receiver(200, got) as url:
        MetricsPush(url, LABELS).push_total(file, driver="ghz")
    (metric,) = got[0]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert ("k6_iterations", True) == (metric["name"], metric["sum"]["isMonotonic"])
    points = metric["sum"]["dataPoints"]
    assert [(100, "0"), (102, "6")] == [(int(each["timeUnixNano"]) // 10**9, each["asInt"]) for each in points]
    attributes = {each["key"]: each["value"]["stringValue"] for each in points[0]["attributes"]}
    assert {**LABELS, "driver": "ghz"} == attributes


def test_a_receiver_that_is_off_is_told_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    """A run that starts is rejected; a load that runs continues, and warns."""
    with receiver(404, []) as url:
        said = f"{url}/api/v1/otlp/v1/metrics: 404: otlp write receiver is off"
        with pytest.raises(UsageError, match=re.escape(f"can't push live metrics: {said}")):
            check_receiver(url)
        MetricsPush(url, LABELS).push_total(make_file(10**9, 2))
        assert [f"Prometheus lacks a load's total: {said}"] == caplog.messages


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
