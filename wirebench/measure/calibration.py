"""What is known of the drivers on this machine: their ceilings, and how far their figures are from the truth."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import AwareDatetime, ValidationError

from wirebench.drivers import DRIVERS
from wirebench.errors import WirebenchError
from wirebench.measure import environment
from wirebench.measure.truth import SERVER
from wirebench.model.cell import Cell
from wirebench.model.contract import Driver, Transport
from wirebench.model.frozen import FrozenModel
from wirebench.model.record import Instrument, Interval, join_intervals
from wirebench.model.validation_messages import describe_first
from wirebench.system.files import make_write_error, write_atomic
from wirebench.targets import Cores

#: On fewer connections a driver waits for replies most of the time, and isn't full.
FULL_CONNECTIONS = 16
#: An open load may be so much faster than what was calibrated: its rate is never exactly the one asked for.
_RATE_TOLERANCE = 1.1
#: The share of its rate that an open load reaches, if the driver keeps up; the window is short.
_KEPT_UP = 0.95
#: More than a calibration takes on disk.
_FILE_BYTES = 256 << 10
#: Begins the names of files of load pods.
_LOAD_POD = "load-pod"


class Errors(FrozenModel):
    """Measured minus truth in milliseconds, the lowest and the highest of the repetitions.

    None where too few requests lie beyond the percentile.
    """

    p50_ms: Interval | None
    p99_ms: Interval | None


class Point(FrozenModel):
    """A driver under one load against the server of known latency.

    A closed load has no `rate_asked_per_s`; `rate_per_s` is the highest rate of the repetitions. The server answers
    `server_ms` after a request has arrived; at once if that is 0.
    """

    driver: Driver
    #: Of the driver, with a digest of its program.
    version: str
    transport: Transport
    concurrency: int
    rate_asked_per_s: int | None
    server_ms: float
    rate_per_s: float
    service: Errors
    response: Errors | None
    #: Whether it was measured briefly, at the start of a run.
    coarse: bool
    measured_at: AwareDatetime

    @property
    def load_rate_per_s(self) -> float:
        """The rate that an open load was to have, or a closed load had."""
        return self.rate_asked_per_s or self.rate_per_s

    @property
    def kept_up(self) -> bool:
        """Whether the driver sent what it was asked for; if not, its error is that of a full driver."""
        return self.rate_per_s >= _KEPT_UP * self.load_rate_per_s

    @property
    def is_ceiling(self) -> bool:
        """Whether its rate is the highest that so many connections allow."""
        return self.rate_asked_per_s is None and self.server_ms == 0

    @property
    def waited(self) -> Errors:
        """Its errors on the clock of what users wait."""
        return self.response or self.service


class Fingerprint(FrozenModel):
    """What calibrations depend on besides the driver: with other ones they are stale."""

    #: The model of the processor, and how many cores the machine has.
    cpu: str
    kernel: str
    #: Which cores server and driver are bound to.
    cores: str
    #: How many cores a load pod gives the driver, and the server as many; None outside of load pods.
    cpu_limit: float | None = None
    #: A digest of the server of known latency.
    truth: str

    @classmethod
    def of(cls, cores: Cores, cpu_limit: float | None = None) -> Fingerprint:
        """Return those of this machine. Raises WirebenchError if the server of known latency isn't there."""
        machine = environment.read_machine()
        if not SERVER.is_file():
            raise WirebenchError(f"the server of known latency is not at {SERVER}", "run `make setup`")
        return cls(
            cpu=f"{machine['cpu']}, {machine['cores']} cores",
            kernel=machine["kernel"],
            cores=str(cores),
            cpu_limit=cpu_limit,
            truth=_compute_digest(SERVER),
        )

    def list_differences(self, other: Fingerprint) -> tuple[str, ...]:
        return tuple(
            f"the {name} was {theirs!r} and is {ours!r}"
            for name, ours in self
            if (theirs := getattr(other, name)) != ours
        )


class Calibration(FrozenModel):
    """The calibrated points of one machine, or of the load pods that run on it: the content of a file."""

    schema_version: Literal["wirebench.calibration/1"] = "wirebench.calibration/1"
    conditions: Fingerprint
    points: tuple[Point, ...] = ()

    def add_points(self, points: Sequence[Point]) -> Calibration:
        """Return it with further points instead of those of the same load; thorough ones replace all of the last time.

        A coarse point takes no thorough one's place.
        """
        thorough = {_describe_load(point) for point in self.points if not point.coarse}
        points = [point for point in points if not (point.coarse and _describe_load(point) in thorough)]
        measured = {_describe_load(point) for point in points}
        calibrated = {(point.driver, point.transport) for point in points if not point.coarse}
        kept = [
            point
            for point in self.points
            if _describe_load(point) not in measured
            and (point.coarse or (point.driver, point.transport) not in calibrated)
        ]
        return self.model_copy(update={"points": (*kept, *points)})

    def drop_stale(self, versions: Mapping[Driver, str] | None = None) -> Calibration:
        """Return it without the points of drivers that have changed since; those that aren't here haven't.

        By default, `versions` are those of this machine.
        """
        if versions is None:
            versions = {name: identify_version(name) for name in {point.driver for point in self.points}}
        kept = (each for each in self.points if (versions.get(each.driver) or each.version) == each.version)
        return self.model_copy(update={"points": tuple(kept)})

    def find_points(self, driver: Driver, transport: Transport) -> list[Point]:
        return [each for each in self.points if (each.driver, each.transport) == (driver, transport)]

    def covers(self, cell: Cell, rate_per_s: float | None) -> bool:
        """Return whether the error of a cell's driver is known at the cell's load; a closed load has no rate before."""
        return bool(_find_neighbours(self._find_usable_points(cell), cell, rate_per_s or 0.0))

    def look_up(self, cell: Cell, rate_per_s: float, generators: int = 1) -> Instrument | None:
        """Return what the driver's figures are worth at a cell's load; None where that isn't known.

        Each of several generators sends its share, has the error of that, and adds its ceiling to the others'.
        The error is that of all calibrated loads next to it, below and above, together, of those that the driver kept
        up with. Coarse points are used where there are no others. A rate of streams says nothing of a driver whose
        ceiling is known in requests.
        """
        share, share_per_s = take_share(cell, generators), rate_per_s / generators
        known = [point for point in self._find_usable_points(share) if point.kept_up]
        fine = [point for point in known if not point.coarse]
        points = fine if _find_neighbours(fine, share, share_per_s) else known
        used = _find_neighbours(points, share, share_per_s)
        ceiling_per_s = None if cell.is_stream else _compute_ceiling_per_s(points, share.concurrency)
        if not used and ceiling_per_s is None:
            return None
        if ceiling_per_s is not None:
            ceiling_per_s *= generators
        return Instrument(
            coarse=any(point.coarse for point in used or points),
            p50_error_ms=join_intervals(point.waited.p50_ms for point in used),
            p99_error_ms=join_intervals(point.waited.p99_ms for point in used),
            ceiling_per_s=ceiling_per_s,
            ceiling_share=rate_per_s / ceiling_per_s if ceiling_per_s else None,
        )

    def _find_usable_points(self, cell: Cell) -> list[Point]:
        # Users who share connections are another load than any that was calibrated.
        if cell.connections is not None:
            return []
        return self.find_points(cell.driver, cell.transport)


def take_share(cell: Cell, generators: int) -> Cell:
    """Return a cell with the connections that one of several generators has; the first ones may have one more."""
    return replace(cell, concurrency=math.ceil(cell.concurrency / generators))


@functools.cache
def identify_version(driver: Driver) -> str:
    """Return a driver's version with a digest of its program, which changes without it; empty if it isn't there."""
    version = DRIVERS[driver].read_version()
    return f"{version} {_compute_digest(DRIVERS[driver].path)}" if version else ""


def locate_calibration(conditions: Fingerprint) -> Path:
    limit = conditions.cpu_limit
    place = conditions.cpu if limit is None else f"{_LOAD_POD} {limit:g} {conditions.cpu}"
    return _find_folder() / f"{re.sub(r'[^a-z0-9]+', '-', place.lower())}.json"


def _find_folder() -> Path:
    if path := os.environ.get("WIREBENCH_CALIBRATION"):
        return Path(path)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "wirebench" / "calibration"


def list_load_pod_calibrations() -> list[Calibration]:
    """Return what is kept of load pods; whether it is stale is known only in their cluster."""
    found = []
    for path in sorted(_find_folder().glob(f"{_LOAD_POD}-*.json")):
        # What can't be read is reported by the run that looks it up.
        with contextlib.suppress(OSError, ValidationError):
            found.append(Calibration.model_validate_json(path.read_bytes()))
    return found


def read_calibration(conditions: Fingerprint, versions: Mapping[Driver, str] | None = None) -> tuple[Calibration, str]:
    """Return what is known under these conditions, and why what the file holds isn't used, if it isn't.

    `versions` are those of the drivers; by default, of this machine's.
    """
    path, nothing = locate_calibration(conditions), Calibration(conditions=conditions)
    try:
        found = Calibration.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return nothing, ""
    except OSError as error:
        return nothing, f"{path} can't be read: {error.strerror}"
    except ValidationError as error:
        return nothing, f"{path} isn't a calibration: {describe_first(error)}"
    if differences := conditions.list_differences(found.conditions):
        return nothing, f"the calibration is stale: {', '.join(differences)}"
    current = found.drop_stale(versions)
    changed = dict.fromkeys(point.driver for point in found.points if point not in current.points)
    return current, f"the calibration is stale: {', '.join(changed)} changed" if changed else ""


def prepare_folder() -> None:
    """Make the folder of calibrations. Raises WirebenchError if nothing can be kept there, as on a full disk."""
    folder = _find_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_FILE_BYTES))
    except OSError as error:
        raise make_write_error(folder, error) from error


def write_calibration(calibration: Calibration) -> Path:
    prepare_folder()
    path = locate_calibration(calibration.conditions)
    write_atomic(path, calibration.model_dump_json(indent=2))
    return path


def get_now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _compute_digest(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12]


def _describe_load(point: Point) -> tuple[object, ...]:
    return (point.driver, point.transport, point.concurrency, point.rate_asked_per_s, point.server_ms)


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
