"""What live metrics cost a load tool: CPU time per request with pushes to a Prometheus, over that without them.

The server answers at once, so that requests are as cheap as they get. Rounds alternate between the two.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.support.jobs import cell
from tests.support.prometheus import started_prometheus
from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.metrics_push import MetricsPush
from wirebench.measure.truth import run_server
from wirebench.model.contract import Driver
from wirebench.model.scenario import Load
from wirebench.system.ports import LOOPBACK
from wirebench.targets import divide_cores

ROUNDS = 7
LOAD = Load(model="closed", warmup_s=0.5, window_s=3)
#: By driver, the most that its CPU time per request may grow; what k6 pushes is its own.
LIMITS: dict[Driver, float] = {"wireload": 1.05, "k6": 1.25}
LABELS = {"namespace": "benchmark", "pod": "load", "node": "localhost", "transport": "rest"}


def main() -> bool:
    """Print the ratios; return whether their medians keep their limits."""
    good = True
    with tempfile.TemporaryDirectory() as temporary, started_prometheus([], Path(temporary)) as url:
        for driver, limit in LIMITS.items():
            pairs = [_measure_pair(driver, MetricsPush(url, LABELS), Path(temporary)) for _ in range(ROUNDS)]
            without_us = statistics.median(each for each, _ in pairs)
            ratios = [pushing_us / plain_us for plain_us, pushing_us in pairs]
            ratio = statistics.median(ratios)
            good = good and ratio <= limit
            print(
                f"{driver}: {without_us:.1f} µs per request, with live metrics × {ratio:.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f}), limit {limit}"
            )
    return good


def _measure_pair(driver: Driver, push: MetricsPush, folder: Path) -> tuple[float, float]:
    """Return CPU time per request in microseconds, without and with pushes."""
    cores = divide_cores()
    with run_server("rest", ["-behaviour", "null"], cores.server, folder / "truth.log") as (port, _):
        output, log = folder / "histograms.json", folder / "driver.log"
        job = Job(cell("rest", driver), LOAD, f"{LOOPBACK}:{port}", 1, 1, output, log, cores.generator)
        plain_us = _measure(job)
        pushing_us = _measure(replace(job, metrics_push=push))
    if push.problem:
        raise SystemExit(push.problem)
    return plain_us, pushing_us


def _measure(job: Job) -> float:
    before_s = _read_cpu_s()
    (file,) = DRIVERS[job.cell.driver].run(job, lambda _: None)
    return 1e6 * (_read_cpu_s() - before_s) / file.sent


def _read_cpu_s() -> float:
    """Return the CPU time of processes that have ended: of load tools, as servers still run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
