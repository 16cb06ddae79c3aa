"""Dashboards: every panel has data after a real load, in a Prometheus that scrapes the services and hears from drivers.

With WIREBENCH_PROMETHEUS_URL it is that of a cluster that had load on all transports in the last quarter of an hour;
without, one is started here.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from grafana.board import INSTANT, Board, Chart
from grafana.boards import BOARDS
from grafana.boards.transports import TRANSPORTS as SIDE_BY_SIDE
from tests.support.prometheus import Prometheus, started_prometheus
from tests.support.report_run import cell
from tests.support.runs import needs_cross_check
from tests.support.services import ASYNCIO, GRPC_SYNC, GTHREAD, Service, started
from tests.support.waiting import run_program, wait_until
from wirebench.drivers import K6, Driver, Job
from wirebench.drivers.driver import MetricsPush
from wirebench.drivers.wireload import Wireload
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system.paths import ROOT, TOOLS
from wirebench.system.processes import Child

pytestmark = [pytest.mark.slow, needs_cross_check]

CLUSTER_URL = os.environ.get("WIREBENCH_PROMETHEUS_URL")
CLUSTER_RANGE_S = 15 * 60
TRANSPORTS = {"rest", "grpc", "socket"}
#: So long that some windows of 15 s hold neither its begin nor its end.
LOAD_S = 32
RATE_PER_S = 50
COUNTED = "sum by (transport) (wirebench_request_duration_seconds_count)"


CHARTS = [pytest.param(board, chart, id=f"{board.uid}-{chart.title}") for board in BOARDS for chart in board.charts()]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Return a Prometheus that has seen a load on all transports."""
    if CLUSTER_URL:
        yield Prometheus(CLUSTER_URL, time.time(), CLUSTER_RANGE_S)
        return
    folder = tmp_path_factory.mktemp("prometheus")
    with contextlib.ExitStack() as stack:
        services = [
            stack.enter_context(started(kind, folder, "--workers", 2)) for kind in (GTHREAD, GRPC_SYNC, ASYNCIO)
        ]
        url = stack.enter_context(started_prometheus(services, folder))
        begin_s = time.time()
        loads: list[tuple[Driver, Service]] = [(K6(), services[0])]
        loads += [(WireloadForSomeWhoAreNot(), service) for service in services]
        with ThreadPoolExecutor(len(loads)) as pool:
            list(pool.map(lambda load: send_load(load[0], load[1], url, folder), loads))

        def find_end() -> Prometheus | None:
            end_s = time.time()
            asked = Prometheus(url, end_s, int(end_s - begin_s))
            return (
                asked
                if by_transport(asked, COUNTED) == {each.kind.transport: count(each) for each in services}
                else None
            )

        yield wait_until(find_end, "Prometheus has scraped all requests")


def count(service: Service) -> float:
    """Return how many requests a service has counted."""
    return sum(value for _, value in service.samples("wirebench_request_duration_seconds_count"))


class WireloadForSomeWhoAreNot(Wireload):
    """wireload as it is, but that one in six requests asks for a missing user."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> HistogramFile:
        """Send requests for more users than there are."""
        text = job.application.read_text(encoding="utf-8")
        application = job.output.with_suffix(".application.yaml")
        application.write_text(text.replace("count: 10000}", "count: 12000}"), encoding="utf-8")
        return super().run(replace(job, application=application), watch)


def send_load(driver: Driver, service: Service, url: str, folder: Path) -> None:
    """Send requests at a fixed rate for a while, and tell Prometheus as a load pod does."""
    transport, name = service.kind.transport, f"{driver.name}-{service.kind.transport}"
    live = MetricsPush(url, {"namespace": "local", "pod": f"load-{name}", "node": "localhost", "transport": transport})
    job = Job(
        cell=cell(cast("Transport", transport), driver=driver.name, concurrency=32, rate_per_s=RATE_PER_S),
        load=Load(model="open", warmup_s=0, window_s=LOAD_S),
        address=str(service.address),
        seed=1,
        id_base=1,
        output=folder / f"{name}.json",
        log=folder / f"{name}.log",
        cores=None,
        metrics_push=live,
    )
    driver.run(job, lambda _: None)
    # On a busy machine k6 may have too few users for a moment.
    right = ("failed: not_found", "Insufficient VUs")
    logged = [line for line in job.log.read_text().splitlines() if not any(each in line for each in right)]
    assert [] == logged


@pytest.mark.parametrize(("board", "chart"), CHARTS)
def test_a_panel_has_data(prometheus: Prometheus, board: Board, chart: Chart) -> None:
    """Each of its queries is valid and gives numbers, for all transports where it tells them apart."""
    shown = [prometheus.chart(board, chart, query) for query in chart.queries]

    if chart.needs and not CLUSTER_URL:
        pytest.skip(f"not checked for data: {chart.needs} is missing here")
    for query, series in zip(chart.queries, shown, strict=True):
        assert series, query.expr
        if query.legend.startswith("{{transport}}") or chart.kind in INSTANT:
            assert {labels.get("transport") for labels in series} == TRANSPORTS, query.expr
        for label in re.findall(r"{{(\w+)}}", query.legend):
            assert any(label in labels for labels in series), f"no {label} for the legend of {query.expr}"


only_here = pytest.mark.skipif(CLUSTER_URL is not None, reason="other loads may have been there before")


@only_here
def test_sizes_are_right(prometheus: Prometheus) -> None:
    """A request for a user takes a frame of 32 bytes on the socket."""
    (expr,) = (chart.queries[0].expr for chart in SIDE_BY_SIDE.charts() if chart.title == "Sent per request")
    frame = 4 + 4 + 1 + len("users.get") + len('{"id":1000001}')  # as proto/socket.md says
    asked = by_transport(prometheus, prometheus.resolve(SIDE_BY_SIDE, expr))
    assert pytest.approx(frame, abs=1) == asked["socket"]


@only_here
def test_failures_are_seen_on_all_transports(prometheus: Prometheus) -> None:
    """A status of HTTP, of gRPC and of the socket protocol that says `not found` is a failure, and no other is."""
    failed, sent = (
        by_transport(prometheus, f'namespace_transport:client_{name}:rate15s{{driver="wireload"}}')
        for name in ("failed_requests", "requests")
    )

    assert TRANSPORTS == failed.keys()
    for transport in TRANSPORTS:
        assert 0.08 < failed[transport] / sent[transport] < 0.25, transport


def by_transport(prometheus: Prometheus, expr: str) -> dict[str, float]:
    """Return the values of a query by transport."""
    return {result["metric"]["transport"]: float(result["value"][1]) for result in prometheus.query(expr)}


def test_recording_rules() -> None:
    """The rules give what their own tests expect."""
    command: list[str | Path] = [TOOLS / "promtool", "test", "rules", ROOT / "tests/unit/charts/rules.test.yaml"]
    result = run_program(command)

    assert result.returncode == 0, result.stdout + result.stderr
