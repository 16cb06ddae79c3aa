"""`wirebench run --prometheus`: what Prometheus gets of a run's load, and what becomes of the run without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.support.prometheus import Prometheus, started_prometheus
from tests.support.runs import RUN_TIMEOUT_S, needs_cross_check, only_run, running, second_lane, wirebench
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.run_info import Run
from wirebench.targets.cluster.namespace import name_namespace

pytestmark = [second_lane, needs_cross_check]

PUSHING = """\
question: Does Prometheus see the load of a run?
factors: {transport: [rest, grpc], concurrency: 2, driver: {rest: [wireload, k6], grpc: wireload}}
load: {warmup_s: 0.2, window_s: 2.5}
blocks: 1
"""
LOSING = """\
question: What becomes of a run whose Prometheus ends?
factors: {transport: rest, operation: [users.get, users.list], concurrency: 2, driver: [wireload, k6]}
load: {warmup_s: 0.1, window_s: 1.2}
blocks: 1
"""


def count_sent(run: Run, driver: str) -> dict[str, int]:
    """Return how many requests a driver has sent in a run, by transport."""
    of_driver = [record for record in run.records if record.factors["driver"] == driver]
    files = {str(each.factors["transport"]): HistogramFile.read(run.folder / each.histogram_file) for each in of_driver}
    return {transport: file.sent for transport, file in files.items()}


def test_prometheus_gets_every_request_of_a_run(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """In a namespace of the run's own, and wireload's under k6's names."""
    with started_prometheus([], tmp_path) as url:
        done = wirebench("run", scenario(PUSHING), "--out", tmp_path / "results", "--prometheus", f"{url}/")
        assert 0 == done.returncode, done.stderr
        run = only_run(tmp_path / "results")
        prometheus = Prometheus(url, time.time(), 60)
        chosen = f'namespace="{name_namespace(run.info.id)}", pod="load", node!=""'

        def read_last(name: str, label: str, function: str = "") -> dict[str, float]:
            last = f'{function}(last_over_time({{__name__=~"{name}", {chosen}, {label}}}[5m]))'
            return {each["metric"]["transport"]: float(each["value"][1]) for each in prometheus.query(last)}

        by_wireload, durations = 'driver="wireload"', "k6_(http|grpc)_req_duration_seconds"
        assert count_sent(run, "wireload") == read_last("k6_iterations_total", by_wireload)
        assert count_sent(run, "wireload") == read_last(durations, by_wireload, "histogram_count")
        assert count_sent(run, "k6") == read_last("k6_iterations_total", 'driver="k6"')


def test_a_run_outlives_its_prometheus(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Its records are whole."""
    out = tmp_path / "results"
    with ExitStack() as prometheus:
        url = prometheus.enter_context(started_prometheus([], tmp_path))
        with running(scenario(LOSING), out, 1, "--prometheus", url) as (process, _):
            prometheus.close()
            _, errors = process.communicate(timeout=RUN_TIMEOUT_S)
    assert 0 == process.returncode, errors
    run = only_run(out)
    assert ("complete", 4) == (run.info.status, len(run.records))
    assert [{}] * 4 == [record.errors for record in run.records]
