"""Calibrating drivers: their ceilings and errors at many loads, or coarsely at those of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.measure.calibration import (
    FULL_CONNECTIONS,
    Calibration,
    Errors,
    Point,
    get_now,
    identify_version,
    take_share,
    write_calibration,
)
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.truth import TruthMeasurement, compute_error_ms, measure_truth
from wirebench.measure.usage import Interference
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.factor import find_defaults
from wirebench.model.histogram_file import OK, Clock
from wirebench.model.record import CALIBRATED_CONNECTIONS_MAX, Interval, join_intervals
from wirebench.model.scenario import Load
from wirebench.plan.arrivals import compute_rate_asked_per_s
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.targets import Cores

#: What calibrating may add to a run.
COARSE_S_MAX = 30.0
_REPETITIONS = 3
_WARMUP_S = 0.2
_WINDOW_S = 0.5
#: About what a driver takes to start, and to write down what it has measured.
_OVERHEAD_S = {"wireload": 0.15}
_OTHERS_OVERHEAD_S = 1.3
#: Connections of closed loads, and after how many milliseconds the server answers. Slower answers on one connection, or
#: faster ones on many, come to too few requests for a p99, or to the ceiling.
_CLOSED = {1: (0, 1), 16: (0, 1, 10), CALIBRATED_CONNECTIONS_MAX: (0, 10)}
#: Open loads: their connections, their rates as shares of the ceiling, and one that is low for any driver.
_OPEN_CONNECTIONS, _OPEN_SHARES, _OPEN_RATE_PER_S = CALIBRATED_CONNECTIONS_MAX, (0.1, 0.5), 500
#: After how many milliseconds the server answers open loads, and those that a run measures itself.
_SERVER_MS = 1
#: At this rate half of the connections wait for replies; if all did, requests would be late by any driver.
_OPEN_RATE_MAX_PER_S = _OPEN_CONNECTIONS * 1000 / _SERVER_MS / 2


@dataclass(frozen=True, slots=True)
class Probe:
    """A load to calibrate a driver under."""

    driver: Driver
    transport: Transport
    concurrency: int
    server_ms: float
    rate_per_s: int | None = None

    def __str__(self) -> str:
        load = f"{self.rate_per_s:,}/s" if self.rate_per_s else "closed"
        return f"{self.driver} {self.transport}, {load}, {self.concurrency:,} connections, {self.server_ms:g} ms"

    @property
    def is_ceiling(self) -> bool:
        return self.rate_per_s is None and self.server_ms == 0

    @property
    def expected_s(self) -> float:
        return _WARMUP_S + _WINDOW_S + _OVERHEAD_S.get(self.driver, _OTHERS_OVERHEAD_S)


def estimate_duration_s(driver: Driver) -> float:
    """Return about how long `measure_loads` takes."""
    loads = sum(map(len, _CLOSED.values()))
    if not DRIVER_FACTS[driver].no_open_load:
        loads += len(_OPEN_SHARES) + 1
    return loads * _REPETITIONS * Probe(driver, "rest", 1, 0).expected_s


def measure_loads(driver: Driver, transport: Transport, cores: Cores) -> Iterator[Point]:
    """Measure all loads at which a driver is calibrated on a transport. Raises WirebenchError."""
    ceiling_per_s = 0.0
    for concurrency, servers_ms in _CLOSED.items():
        for server_ms in servers_ms:
            point = measure_point(Probe(driver, transport, concurrency, server_ms), cores, _REPETITIONS)
            if point.is_ceiling:
                ceiling_per_s = point.rate_per_s  # in the end, on as many connections as open loads have
            yield point
    if DRIVER_FACTS[driver].no_open_load:
        return
    rates_per_s = {math.ceil(min(share * ceiling_per_s, _OPEN_RATE_MAX_PER_S)) for share in _OPEN_SHARES}
    for rate_per_s in sorted({_OPEN_RATE_PER_S, *rates_per_s}):
        probe = Probe(driver, transport, _OPEN_CONNECTIONS, _SERVER_MS, rate_per_s)
        yield measure_point(probe, cores, _REPETITIONS)


def plan_probes(cells: Iterable[Cell], load: Load, known: Calibration | None) -> list[list[Probe]]:
    """Return the ceiling and the load to measure for each load of cells that isn't calibrated.

    Of several generators it is the share of one that is calibrated.
    Of several numbers of connections the least and the most come first: others lie between.
    """
    loads: dict[tuple[Driver, Transport], dict[tuple[int, int | None], None]] = {}
    for cell in (take_share(load.add_connections(each), load.generators) for each in cells):
        asked_per_s = cell.rate_per_s or compute_rate_asked_per_s(load, cell)
        rate_per_s = asked_per_s and asked_per_s / load.generators
        if cell.connections is None and not (known and known.covers(cell, rate_per_s)):
            own = loads.setdefault((cell.driver, cell.transport), {})
            own[cell.concurrency, math.ceil(rate_per_s) if rate_per_s else None] = None
    probes = []
    for (driver, transport), own in loads.items():
        ordered = sorted(own, key=lambda load: (load[0], load[1] or 0))
        for concurrency, rate_per_s in dict.fromkeys((ordered[0], ordered[-1], *ordered)):
            ceiling = Probe(driver, transport, max(concurrency, FULL_CONNECTIONS), 0)
            probes.append([ceiling, Probe(driver, transport, concurrency, _SERVER_MS, rate_per_s)])
    return probes


def choose_probes(probes: Sequence[Sequence[Probe]]) -> tuple[list[Probe], int]:
    """Return the probes of as many loads as `COARSE_S_MAX` is enough for, and of how many it isn't.

    Ceilings come again in the end: a machine that was slow for a moment would have too low ones until the next
    calibration.
    """
    chosen: list[Probe] = []
    left_out = 0
    for own in probes:
        once = dict.fromkeys((*chosen, *own))
        more = [*once, *(probe for probe in once if probe.is_ceiling)]
        if sum(probe.expected_s for probe in more) <= COARSE_S_MAX:
            chosen = more
        else:
            left_out += 1
    return chosen, left_out


def measure_coarsely(probes: Iterable[Probe], cores: Cores) -> tuple[list[Point], list[str]]:
    """Measure each, as far as `COARSE_S_MAX` is enough; return the points, and what went wrong with others.

    Of a load that is measured again, the point with the higher rate is returned.
    """
    deadline = time.monotonic() + COARSE_S_MAX
    points: dict[Probe, Point] = {}
    problems = []
    for probe in probes:
        if time.monotonic() + probe.expected_s > deadline:
            if probe not in points:
                problems.append(f"{probe}: no time left")
            continue
        try:
            point = measure_point(probe, cores, repetitions=1, coarse=True)
        except WirebenchError as error:
            problems.append(f"{probe}: {error.message}")
        else:
            points[probe] = max(points.get(probe, point), point, key=lambda each: each.rate_per_s)
    return list(points.values()), problems


def measure_point(probe: Probe, cores: Cores, repetitions: int, *, coarse: bool = False) -> Point:
    """Measure one load so often. Raises WirebenchError."""
    levels: dict[str, Any] = {
        **find_defaults(probe.transport),
        "transport": probe.transport,
        "driver": probe.driver,
        "concurrency": probe.concurrency,
        "rate_per_s": probe.rate_per_s,
    }
    load = Load(model="open" if probe.rate_per_s else "closed", warmup_s=_WARMUP_S, window_s=_WINDOW_S)
    behaviour = ("-behaviour", "constant" if probe.server_ms else "null", "-latency", f"{probe.server_ms}ms")
    cell = Cell(**levels)
    measured = [measure_truth(cell, load, behaviour, seed, cores) for seed in range(repetitions)]
    return Point(
        driver=probe.driver,
        version=identify_version(probe.driver),
        transport=probe.transport,
        concurrency=probe.concurrency,
        rate_asked_per_s=probe.rate_per_s,
        server_ms=probe.server_ms,
        rate_per_s=max(each.file.count_by_code().get(OK, 0) / each.window_s for each in measured),
        service=_compute_errors(measured, "service"),
        response=_compute_errors(measured, "response") if probe.rate_per_s else None,
        coarse=coarse,
        measured_at=get_now(),
    )


def write_undisturbed(calibration: Calibration, interference: Interference) -> Path:
    """Keep a calibration, and return where. Raises WirebenchError if others took CPU time while it was measured."""
    share = interference.compute_share()
    if share > INTERFERENCE_MAX:
        message = f"other programs took {share:.0%} of the cores' time, so that the calibration isn't kept"
        raise WirebenchError(message, "close them, or calibrate again later")
    return write_calibration(calibration)


def list_transports(driver: Driver) -> tuple[Transport, ...]:
    return tuple(transport for transport, facts in TRANSPORTS.items() if driver in facts.drivers)


def _compute_errors(measured: Sequence[TruthMeasurement], clock: Clock) -> Errors:
    def join(quantile: float) -> Interval | None:
        found = (compute_error_ms(each.truth, each.file.merge_histograms(clock), quantile) for each in measured)
        return join_intervals(each and (each[1], each[1]) for each in found)

    return Errors(p50_ms=join(0.5), p99_ms=join(0.99))
