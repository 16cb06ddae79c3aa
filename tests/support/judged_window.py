"""A window that passes all gates, and windows that fail one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.histogram_files import make_file, make_series
from tests.support.report_run import cell
from tests.support.simulated_service import SimulatedService, make_search
from wirebench.drivers import Job
from wirebench.measure.figures import make_record
from wirebench.measure.gates import GateInput, check_gates
from wirebench.measure.observe import Observation
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import PerSecond, Series
from wirebench.model.record import Gate, Instrument
from wirebench.model.scenario import Load
from wirebench.targets.cores import divide_cores

SECOND_NS = 10**9
WINDOW_S = 4
INSTRUMENT = Instrument(p50_error_ms=None, p99_error_ms=None, ceiling_per_s=1500, ceiling_share=0.7, coarse=False)
COUNTED = {"a": {"1": 2400}, "b": {"1": 2400}}


@dataclass(frozen=True, kw_only=True)
class JudgedWindow:
    """Changes to an open load of 1,000 requests/s for four seconds, on two replicas, and what was seen of it."""

    closed: bool = False
    succeeded: int = 4000
    failed: int = 0
    latency_ms: float = 15.5
    cell: Mapping[str, Any] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)
    file: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)
    requests: Mapping[str, Mapping[str, int]] | None = field(default_factory=COUNTED.copy)
    spare_cores: float | None = 64.0
    record: Mapping[str, Any] = field(default_factory=lambda: {"instrument": INSTRUMENT})

    def judge(self, folder: Path) -> dict[str, Gate]:
        """Return the gates that apply, by name."""
        return {gate.name: gate for gate in check_gates(self.measure(folder))}

    def measure(self, folder: Path) -> GateInput:
        """Return what gates look at."""
        levels = {"concurrency": 16, "replicas": 2, "balancing": "headless"}
        of = cell("rest", rate_per_s=None if self.closed else 1000, **{**levels, **self.cell})
        load = Load.model_validate({"model": "closed" if self.closed else "open", "warmup_s": 1.0, **self.load})
        load = load.model_copy(update={"window_s": float(WINDOW_S)})
        job = Job(of, load, "127.0.0.1:1", 1, 1, folder / "h.json", folder / "driver.log", None)
        seen = self._observe()
        record = make_record(job, seen)
        record = record.model_copy(update=dict(self.record))
        return GateInput(job, seen, record, self.spare_cores)

    def _observe(self) -> Observation:
        counts = {"ok": self.succeeded, "unavailable": self.failed}
        file = make_file(
            100 * SECOND_NS,
            WINDOW_S,
            series=tuple(self._make_series(code, count) for code, count in counts.items() if count),
            per_second=(PerSecond(operation="users.get", code="ok", counts=(1000,) * WINDOW_S),),
            requests_total={"ok": 4800},
        )
        seen = {
            "generator_cpu_s": 2.0,
            "generator_share": 0.5,
            "generator_throttled_periods": 0,
            "pinned": divide_cores(frozenset({0, 1})),
            "interference": 0.01,
            "dropped_packets": 0,
        }
        return Observation(
            file=file.model_copy(update=dict(self.file)),
            window_s=float(WINDOW_S),
            server_cpu_s=1.0,
            server_memory_bytes=2**20,
            server_throttled_periods=0,
            server_requests=self.requests and {name: dict(counts) for name, counts in self.requests.items()},
            **{**seen, **self.seen},
        )

    def _make_series(self, code: str, count: int) -> Series:
        histogram = Histogram.of_values(np.full(count, round(self.latency_ms * 1e6)))
        return make_series(histogram, code=code)


GOOD = JudgedWindow()
CLOSED = JudgedWindow(closed=True)


def with_requests(window: JudgedWindow, **by_replica: int) -> JudgedWindow:
    """Return a window of which replicas have counted so many requests."""
    return replace(window, requests={name: {"1": count} for name, count in by_replica.items()})


def with_connections(concurrency: int, in_flight: float, cores_busy: float) -> JudgedWindow:
    """Return a window of a closed load with so many requests in flight."""
    # A thousand requests/s that take a millisecond each are one in flight.
    return replace(
        CLOSED,
        latency_ms=in_flight,
        cell={"concurrency": concurrency},
        load={"warmup_s": 3.0},
        seen={"generator_cpu_s": cores_busy * WINDOW_S},
    )


#: What makes each gate fail.
FAILING = [
    ("generator_cpu", replace(GOOD, seen={"generator_share": 0.95})),
    ("generator_cpu", replace(GOOD, seen={"generator_share": 0.11, "pinned": divide_cores(frozenset({0}))})),
    ("dropped_iterations", replace(GOOD, file={"dropped_iterations": 1})),
    ("rate_error", replace(GOOD, succeeded=3600)),
    ("error_rate", replace(GOOD, failed=100)),
    ("replies", replace(GOOD, succeeded=0)),
    ("connections", with_connections(2000, 999.0, 0.5)),
    ("connections", with_connections(2, 0.85, 0.6)),
    ("connections", with_connections(8, 6.0, 0.9)),
    ("warmup", replace(CLOSED, latency_ms=1100.0)),
    ("warmup", replace(CLOSED, load={"warmup_s": 0.0})),
    ("samples", replace(GOOD, succeeded=999)),
    ("conformance", replace(GOOD, file={"mismatches": 1})),
    (
        "drift",
        replace(
            GOOD, file={"per_second": (PerSecond(operation="users.get", code="ok", counts=(1000, 1000, 700, 700)),)}
        ),
    ),
    ("counts", with_requests(GOOD, a=2400, b=2399)),
    ("interference", replace(GOOD, seen={"interference": 0.06})),
    ("replica_balance", with_requests(GOOD, a=4700, b=100)),
    ("dropped_packets", replace(GOOD, seen={"dropped_packets": 1})),
    ("shared_host", replace(GOOD, spare_cores=0.1)),
    ("ceiling", replace(GOOD, record={"instrument": INSTRUMENT.model_copy(update={"ceiling_share": 0.71})})),
    ("resolution", replace(GOOD, record={"search": make_search([])})),
    ("resolution", replace(GOOD, record={"search": make_search([SimulatedService(1000, seed=1).answer(10)])})),
    ("throttled_generator", replace(GOOD, seen={"generator_throttled_periods": 1})),
]
