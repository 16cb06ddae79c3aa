"""Live metrics: what Prometheus is told of a load, and what becomes of the load if it can't be told."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_servers import QuietHandler, serving
from tests.support.jobs import CELL, JOB
from wirebench.drivers import K6
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
def receiver(status: int) -> Iterator[tuple[str, list[tuple[str, str | None, Any]]]]:
    """Run something that takes metrics with that status; yield its URL and what it was told."""
    asked: list[tuple[str, str | None, Any]] = []

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body, kind = self.rfile.read(int(self.headers["Content-Length"])), self.headers["Content-Type"]
            asked.append((self.path, kind, json.loads(body) if kind == "application/json" else body))
            self.answer(status, b"otlp write receiver is off")

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        yield f"http://{address}", asked


def test_a_load_goes_on_without_prometheus() -> None:
    """What was rejected, and what didn't answer, is kept to be reported, and nothing is raised."""
    with receiver(404) as (url, _):
        live = MetricsPush(url, LABELS)
        live.push(CALLS, WINDOW, {})
        assert f"{url}/api/v1/otlp/v1/metrics: 404: otlp write receiver is off" == live.problem
    live = MetricsPush(url, LABELS)
    live.push(CALLS, WINDOW, {})
    assert "refused" in live.problem


def test_a_prometheus_is_checked_as_drivers_push() -> None:
    """By a push without series; a receiver that is off is told with its own words."""
    path = "/api/v1/otlp/v1/metrics"
    with receiver(200) as (url, asked):
        check_receiver(url)
    assert [path] == [each for each, _, _ in asked]
    with receiver(404) as (url, _), pytest.raises(UsageError) as error:
        check_receiver(url)
    assert f"can't push live metrics: {url}{path}: 404: otlp write receiver is off" == error.value.message
    with pytest.raises(UsageError, match=r"can't push live metrics: .*: .*refused"):
        check_receiver(url)


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


def test_k6_is_told_where_to_write_and_under_which_labels(tmp_path: Path) -> None:
    """Without live metrics there is one output, and no label."""
    k6_job = replace(JOB, cell=replace(CELL, driver="k6"), output=tmp_path / "calls")
    live = MetricsPush("http://p:9090", LABELS)
    command = list(map(str, K6().build_arguments(replace(k6_job, metrics_push=live), ())))
    assert "opentelemetry" in command
    labels = {**LABELS, "driver": "k6"}
    assert [f"{name}={value}" for name, value in labels.items()] == [
        command[place + 1] for place, part in enumerate(command) if part == "--tag"
    ]
    plain = list(map(str, K6().build_arguments(k6_job, ())))
    assert (1, 0) == (plain.count("--out"), plain.count("--tag"))


FAKE_K6 = """#!/bin/sh
[ "$1" = version ] && exit
env | grep -i '^K6_OTEL_\\|^OTEL_\\|^no_proxy=' | sort
for output; do case $output in csv=*) break; esac; done
echo 'metric_name,timestamp,metric_value,error,error_code,status,extra_tags,metadata
http_req_duration,1000000000000000000,1,,,200,,' >"${output#csv=}"
"""
FAILURES = """\
echo 'level=info msg="2026/11/28 07:55:12 failed to upload metrics: first"'
echo "level=error msg=\\"can't shutdown\\" error=\\"failed to upload metrics: last\\""
echo 'level=warning msg="something else"'
"""


def test_k6_writes_native_histograms_and_says_what_it_could_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output is set up by the environment, which names no proxy; its last error is what is said of it."""
    program = tmp_path / "k6"
    program.write_text(FAKE_K6 + FAILURES)
    program.chmod(0o755)
    monkeypatch.setattr(K6, "path", program)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    log, live = tmp_path / "k6.log", MetricsPush("http://p:9090", LABELS)
    job = replace(JOB, cell=replace(CELL, driver="k6", transport="rest"), output=tmp_path / "out.json", log=log)
    K6().run(replace(job, metrics_push=live), lambda _: None)
    assert [
        "K6_OTEL_EXPORTER_PROTOCOL=http/protobuf",
        "K6_OTEL_EXPORT_INTERVAL=1s",
        "K6_OTEL_HTTP_EXPORTER_ENDPOINT=p:9090",
        "K6_OTEL_HTTP_EXPORTER_INSECURE=true",
        "K6_OTEL_HTTP_EXPORTER_URL_PATH=/api/v1/otlp/v1/metrics",
        "K6_OTEL_METRIC_PREFIX=k6_",
        "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram",
    ] == sorted(line for line in log.read_text().splitlines() if line.startswith(("K6_", "OTEL_")))
    assert {"NO_PROXY=*", "no_proxy=*"} <= {*log.read_text().splitlines()}
    assert "failed to upload metrics: last" == live.problem
    program.write_text(FAKE_K6)
    K6().run(replace(job, metrics_push=live), lambda _: None)
    assert "failed to upload metrics: last" == live.problem, "what was missed stays missed, whatever later windows push"
    another = MetricsPush("http://p:9090", LABELS)
    K6().run(replace(job, metrics_push=another), lambda _: None)
    assert not another.problem, "of a log that is written on, what was there before says nothing of this load"
