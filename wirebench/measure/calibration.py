"""What a driver's figures are worth: its ceiling and its errors by load, measured once per machine and looked up."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from wirebench.drivers import DRIVERS
from wirebench.errors import WirebenchError
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.truth import SERVER, compute_error_ms, measure_truth
from wirebench.measure.usage import Interference
from wirebench.model.cell import Cell, find_defaults
from wirebench.model.contract import OPEN_LOAD_DRIVERS, TRANSPORTS, Driver, Transport
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import OK, Clock
from wirebench.model.record import CALIBRATED_CONNECTIONS_MAX, Instrument, Interval, join_intervals
from wirebench.model.scenario import Load
from wirebench.system.files import make_write_error, write_atomic
from wirebench.targets.cores import Cores

#: What calibrating may add to a run.
COARSE_S_MAX = 75.0
#: On fewer connections a driver waits for replies most of the time, and isn't full.
FULL_CONNECTIONS = 16
_REPETITIONS = 3
_WARMUP_S = 0.2
_WINDOW_S = 0.5
#: An open load has a longer window where it comes to fewer requests: a p99 needs them.
_OPEN_REQUESTS_MIN, _OPEN_WINDOW_S_MAX = 1000, 2.0
#: A warm-up is a second longer for so many connections, to be open when the window begins, and so much at most.
_OPENED_PER_S, _OPENING_S_MAX = 5000, 15.0
#: About what a driver takes to start, and to write down what it has measured.
_OVERHEAD_S = {"wireload": 0.15}
_OTHERS_OVERHEAD_S = 1.3
#: Closed loads: their connections, and after how many milliseconds the server answers. Slower answers on one
#: connection, or faster ones on many, come to too few requests for a p99, or to the ceiling.
_CLOSED = (
    (1, 0),
    (1, 1),
    (16, 0),
    (16, 1),
    (16, 10),
    (CALIBRATED_CONNECTIONS_MAX, 0),
    (CALIBRATED_CONNECTIONS_MAX, 10),
)
#: Open loads: their connections, their rates as shares of the ceiling, and one that is low for any driver.
_OPEN_CONNECTIONS, _OPEN_SHARES, _OPEN_RATE_PER_S = CALIBRATED_CONNECTIONS_MAX, (0.1, 0.5), 500
#: After how many milliseconds the server answers open loads, and those that a run measures itself.
_SERVER_MS = 1
#: At this rate half of the connections wait for replies; if all did, requests would be late by any driver.
_OPEN_RATE_MAX_PER_S = _OPEN_CONNECTIONS * 1000 / _SERVER_MS / 2
#: An open load may be so much faster than what was calibrated: its rate is never exactly the one asked for.
_RATE_TOLERANCE = 1.1
#: The share of its rate that an open load reaches, if the driver keeps up; the window is short.
_KEPT_UP = 0.95


class Probe(FrozenModel):
    """A load to calibrate a driver under: closed without `rate_asked_per_s`.

    The server answers `server_ms` after a request has arrived; at once if that is 0.
    """

    driver: Driver
    transport: Transport
    concurrency: int
    server_ms: float
    rate_asked_per_s: int | None = None

    @property
    def is_ceiling(self) -> bool:
        """Whether its rate is the highest that so many connections allow."""
        return self.rate_asked_per_s is None and self.server_ms == 0

    @property
    def warmup_s(self) -> float:
        # Users of an open load connect when it is their turn.
        opened_per_s = min(_OPENED_PER_S, self.rate_asked_per_s or _OPENED_PER_S)
        return _WARMUP_S + min(self.concurrency / opened_per_s, _OPENING_S_MAX)

    @property
    def window_s(self) -> float:
        if self.rate_asked_per_s is None:
            return _WINDOW_S
        return min(max(_WINDOW_S, _OPEN_REQUESTS_MIN / self.rate_asked_per_s), _OPEN_WINDOW_S_MAX)

    @property
    def expected_s(self) -> float:
        return self.warmup_s + self.window_s + _OVERHEAD_S.get(self.driver, _OTHERS_OVERHEAD_S)


class Point(Probe):
    """What was measured under a probe; `rate_per_s` is the highest rate of the repetitions.

    Errors are measured minus truth in milliseconds, the lowest and the highest of the repetitions, on the clock of what
    users wait: None where too few requests lie beyond the percentile.
    """

    #: Of the driver, with a digest of its program.
    version: str
    rate_per_s: float
    p50_error_ms: Interval | None
    p99_error_ms: Interval | None
    #: Whether it was measured briefly, at the start of a run.
    coarse: bool

    @property
    def probe(self) -> Probe:
        return Probe(**{name: getattr(self, name) for name in Probe.model_fields})

    @property
    def load_rate_per_s(self) -> float:
        """The rate that an open load was to have, or a closed load had."""
        return self.rate_asked_per_s or self.rate_per_s

    @property
    def kept_up(self) -> bool:
        """Whether the driver sent what it was asked for; if not, its error is that of a full driver."""
        return self.rate_per_s >= _KEPT_UP * self.load_rate_per_s


class Calibration(FrozenModel):
    """The points that are known of the drivers of one machine, or of a load pod."""

    points: tuple[Point, ...] = ()

    def add_points(self, points: Iterable[Point]) -> Calibration:
        """Return it with further points: thorough ones replace all of their driver and transport, coarse ones none."""
        known = {each.probe for each in self.points}
        added = [each for each in points if not each.coarse or each.probe not in known]
        renewed = {(each.driver, each.transport) for each in added if not each.coarse}
        kept = [each for each in self.points if (each.driver, each.transport) not in renewed]
        return Calibration(points=(*kept, *added))

    def find_points(self, driver: Driver, transport: Transport) -> list[Point]:
        return [each for each in self.points if (each.driver, each.transport) == (driver, transport)]

    def covers(self, cell: Cell, rate_per_s: float | None) -> bool:
        """Return whether the error of a cell's driver is known at the cell's load; a closed load has no rate before."""
        return bool(_find_neighbours(self._find_usable_points(cell), cell, rate_per_s or 0.0))

    def look_up(self, cell: Cell, rate_per_s: float) -> Instrument | None:
        """Return what the driver's figures are worth at a cell's load; None where that isn't known.

        The error is that of all calibrated loads next to it, below and above, together, of those that the driver kept
        up with. Coarse points are used where there are no others. A rate of streams says nothing of a driver whose
        ceiling is known in requests.
        """
        known = [point for point in self._find_usable_points(cell) if point.kept_up]
        fine = [point for point in known if not point.coarse]
        points = fine if _find_neighbours(fine, cell, rate_per_s) else known
        used = _find_neighbours(points, cell, rate_per_s)
        ceiling_per_s = None if cell.stream_items is not None else _compute_ceiling_per_s(points, cell.concurrency)
        if not used and ceiling_per_s is None:
            return None
        return Instrument(
            coarse=any(point.coarse for point in used or points),
            p50_error_ms=join_intervals(point.p50_error_ms for point in used),
            p99_error_ms=join_intervals(point.p99_error_ms for point in used),
            ceiling_per_s=ceiling_per_s,
            ceiling_share=rate_per_s / ceiling_per_s if ceiling_per_s else None,
        )

    def _find_usable_points(self, cell: Cell) -> list[Point]:
        # Users who share connections are another load than any that was calibrated.
        return self.find_points(cell.driver, cell.transport) if cell.connections is None else []


def _find_neighbours(points: Sequence[Point], cell: Cell, rate_per_s: float) -> list[Point]:
    """Return the points next to a load, below and above it; none where the load lies beyond all points.

    A closed load lies between numbers of connections, and on each of these between rates. An open load is compared
    with those on as many connections or more: it is its rate that loads the driver.
    """
    is_open = cell.rate_per_s is not None or cell.shape is not None
    alike = [point for point in points if (point.rate_asked_per_s is not None) == is_open]
    levels = sorted({point.concurrency for point in alike})
    above = [level for level in levels if level >= cell.concurrency][:1]
    below = [level for level in levels if level <= cell.concurrency][-1:]
    if not above or not (below or is_open):
        return []
    found: list[Point] = []
    for level in above if is_open else dict.fromkeys((*below, *above)):
        own = sorted((each for each in alike if each.concurrency == level), key=lambda each: each.load_rate_per_s)
        slowest, fastest = own[0], own[-1]
        if is_open and rate_per_s > _RATE_TOLERANCE * fastest.load_rate_per_s:
            return []
        between = [pair for pair in pairwise(own) if pair[0].load_rate_per_s <= rate_per_s <= pair[1].load_rate_per_s]
        found += between[0] if between else (slowest,) if rate_per_s < slowest.load_rate_per_s else (fastest,)
    return found


def _compute_ceiling_per_s(points: Sequence[Point], concurrency: int) -> float | None:
    """Return the ceiling on so many connections, interpolated between those that are known on logarithmic scales."""
    ceilings = [point for point in points if point.is_ceiling and point.concurrency >= FULL_CONNECTIONS]
    known = sorted((point.concurrency, point.rate_per_s) for point in ceilings)
    if not known:
        return None
    connections, rates_per_s = (np.log(each) for each in zip(*known, strict=True))
    return math.exp(float(np.interp(math.log(concurrency), connections, rates_per_s)))


def list_transports(driver: Driver) -> tuple[Transport, ...]:
    return tuple(transport for transport, facts in TRANSPORTS.items() if driver in facts.drivers)


def estimate_duration_s(driver: Driver) -> float:
    """Return about how long `measure_loads` takes."""
    loads = len(_CLOSED) + (len(_OPEN_SHARES) + 1 if driver in OPEN_LOAD_DRIVERS else 0)
    return loads * _REPETITIONS * Probe(driver=driver, transport="rest", concurrency=1, server_ms=0).expected_s


def measure_loads(driver: Driver, transport: Transport, cores: Cores) -> Iterator[Point]:
    """Measure all loads at which a driver is calibrated on a transport. Raises WirebenchError."""
    ceiling_per_s = 0.0
    for concurrency, server_ms in _CLOSED:
        closed = Probe(driver=driver, transport=transport, concurrency=concurrency, server_ms=server_ms)
        point = measure_probe(closed, cores)
        if point.is_ceiling:
            ceiling_per_s = point.rate_per_s  # in the end, on as many connections as open loads have
        yield point
    if driver not in OPEN_LOAD_DRIVERS:
        return
    rates_per_s = {math.ceil(min(share * ceiling_per_s, _OPEN_RATE_MAX_PER_S)) for share in _OPEN_SHARES}
    for rate_per_s in sorted({_OPEN_RATE_PER_S, *rates_per_s}):
        probe = Probe(
            driver=driver,
            transport=transport,
            concurrency=_OPEN_CONNECTIONS,
            server_ms=_SERVER_MS,
            rate_asked_per_s=rate_per_s,
        )
        yield measure_probe(probe, cores)


def plan_probes(cells: Iterable[Cell], load: Load, known: Calibration) -> tuple[list[Probe], int]:
    """Return what to measure for the loads of cells that aren't calibrated, and how many loads there is no time for.

    Each load takes its own probe and that of the ceiling.
    Of several numbers of connections the least and the most come first: others lie between.
    """
    unknown: dict[tuple[Driver, Transport], list[Probe]] = {}
    for cell in map(load.add_connections, cells):
        asked_per_s = load.compute_rate_asked_per_s(cell)
        rate_per_s = math.ceil(asked_per_s) if asked_per_s else None
        if cell.connections is None and not known.covers(cell, rate_per_s):
            probe = Probe(
                driver=cell.driver,
                transport=cell.transport,
                concurrency=cell.concurrency,
                server_ms=_SERVER_MS,
                rate_asked_per_s=rate_per_s,
            )
            unknown.setdefault((cell.driver, cell.transport), []).append(probe)
    chosen: dict[Probe, None] = {}
    left_out = 0
    for own in unknown.values():
        ordered = sorted(own, key=lambda probe: (probe.concurrency, probe.rate_asked_per_s or 0))
        for probe in dict.fromkeys((ordered[0], ordered[-1], *ordered)):
            full = {"concurrency": max(probe.concurrency, FULL_CONNECTIONS), "server_ms": 0, "rate_asked_per_s": None}
            more = dict.fromkeys((*chosen, probe.model_copy(update=full), probe))
            if estimate_coarse_s(more) <= COARSE_S_MAX:
                chosen = more
            else:
                left_out += 1
    return list(chosen), left_out


def estimate_coarse_s(probes: Iterable[Probe]) -> float:
    """Return about how long it takes to measure them coarsely."""
    return sum(each.expected_s * _count_repetitions(each, coarse=True) for each in probes)


def _count_repetitions(probe: Probe, *, coarse: bool) -> int:
    # A machine that is slow for a moment has too low a ceiling.
    return _REPETITIONS if probe.is_ceiling or not coarse else 1


def measure_probe(probe: Probe, cores: Cores, *, coarse: bool = False) -> Point:
    """Measure one load against the server of known latency. Raises WirebenchError."""
    levels: dict[str, Any] = {
        **find_defaults(probe.transport),
        "driver": probe.driver,
        "concurrency": probe.concurrency,
        "rate_per_s": probe.rate_asked_per_s,
    }
    load = Load(model="open" if probe.rate_asked_per_s else "closed", warmup_s=probe.warmup_s, window_s=probe.window_s)
    behaviour = ("-behaviour", "constant" if probe.server_ms else "null", "-latency", f"{probe.server_ms}ms")
    cell = Cell(**levels)
    repetitions = range(_count_repetitions(probe, coarse=coarse))
    measured = [measure_truth(cell, load, behaviour, seed, cores) for seed in repetitions]
    clock: Clock = "response" if probe.rate_asked_per_s else "service"

    def find_error_ms(quantile: float) -> Interval | None:
        found = (compute_error_ms(each.truth, each.file.merge_histograms(clock), quantile) for each in measured)
        return join_intervals(each and (each[1], each[1]) for each in found)

    return Point(
        **dict(probe),
        version=identify_version(probe.driver),
        rate_per_s=max(each.file.count_by_code().get(OK, 0) / each.window_s for each in measured),
        p50_error_ms=find_error_ms(0.5),
        p99_error_ms=find_error_ms(0.99),
        coarse=coarse,
    )


def locate_calibration(cores: Cores, machine: Mapping[str, str]) -> Path:
    """Return where the calibration of a machine is kept, as `wirebench.run.environment` describes it.

    Its name has a digest of all that calibrations depend on besides the drivers. Raises WirebenchError if the server of
    known latency isn't there.
    """
    if not SERVER.is_file():
        raise WirebenchError(f"the server of known latency is not at {SERVER}", "run `make setup`")
    depends_on = (machine["cpu"], machine["cores"], machine["kernel"], str(cores), _compute_digest(SERVER.read_bytes()))
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = Path(os.environ.get("WIREBENCH_CALIBRATION") or state / "wirebench" / "calibration")
    name = re.sub(r"[^a-z0-9]+", "-", machine["cpu"].lower())
    return folder / f"{name}-{_compute_digest(repr(depends_on).encode())}.json"


def read_calibration(path: Path) -> Calibration:
    """Return what is known, without drivers that have changed since; a driver that isn't here hasn't.

    What can't be read is measured again, as what isn't there.
    """
    try:
        found = Calibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return Calibration()
    versions = {driver: identify_version(driver) for driver in {point.driver for point in found.points}}
    return Calibration(points=tuple(each for each in found.points if versions[each.driver] in ("", each.version)))


def keep_undisturbed(calibration: Calibration, path: Path, interference: Interference) -> None:
    """Keep a calibration. Raises WirebenchError if others took CPU time while it was measured."""
    share = interference.compute_share()
    if share > INTERFERENCE_MAX:
        message = f"other programs took {share:.0%} of the cores' time, so that the calibration isn't kept"
        raise WirebenchError(message, "close them, or calibrate again later")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(path, error) from error
    write_atomic(path, calibration.model_dump_json(indent=2))


@functools.cache
def identify_version(driver: Driver) -> str:
    """Return a driver's version with a digest of its program, which changes without it; empty if it isn't there."""
    version = DRIVERS[driver].read_version()
    return f"{version} {_compute_digest(DRIVERS[driver].path.read_bytes())}" if version else ""


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
