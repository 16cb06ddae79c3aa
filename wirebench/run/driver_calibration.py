"""Calibration of drivers over all loads that it has, on this machine or in load pods: `wirebench calibrate`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, get_args

from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibrate import estimate_duration_s, list_transports, measure_loads, write_undisturbed
from wirebench.measure.calibration import Fingerprint, Point, prepare_folder, read_calibration, write_calibration
from wirebench.measure.environment import find_warnings
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.scenario import Load
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.results.runs import make_run_id
from wirebench.run.load_pod import pods
from wirebench.run.progress import TimeLeft
from wirebench.run.target_options import TargetOptions
from wirebench.system.signals import Interrupted
from wirebench.targets import divide_cores
from wirebench.targets.cores import CoreClaim
from wirebench.targets.kubernetes.load import AROUND_S

DriverTransport = tuple[Driver, Transport]
#: Measures a driver on a transport, keeps its points, and returns where.
_Calibrate = Callable[[Driver, Transport], Path]


class CalibrationProgress(Protocol):
    """Receives the progress of a calibration."""

    def note(self, text: str) -> None:
        """Receive what concerns the figures, or what is kept of them."""

    def begin(self, expected_s: float) -> None:
        """Receive about how long it takes, before the first driver."""

    def add_point(self, point: Point) -> None:
        """Receive a point when it is measured."""

    def end_driver(self, pair: DriverTransport, done: int, total: int, left_s: float) -> None:
        """Receive a driver and transport when they have ended; `done` of `total` have."""


def choose_drivers(drivers: Collection[str], transports: Collection[str], *, in_cluster: bool) -> list[DriverTransport]:
    """Return the drivers, by default all that are there, with those of the transports that they speak.

    Raises UsageError if one isn't there, or if there are none.
    """
    if in_cluster:
        present: list[str] = [name for name, facts in DRIVER_FACTS.items() if facts.in_clusters]
    else:
        present = [name for name, driver in DRIVERS.items() if driver.read_version()]
    for name in drivers:
        if name not in present and in_cluster:
            raise UsageError(f"{name} is not in the image of the load pods", f"one of {', '.join(present)}")
        if name not in present:
            raise UsageError(f"the driver {name} is not installed", f"run `{DRIVERS[name].setup}`")
    chosen = [
        (name, transport)
        for name in get_args(Driver)
        if name in (drivers or present)
        for transport in list_transports(name)
        if transport in (transports or TRANSPORTS)
    ]
    if not chosen:
        raise UsageError("none of these drivers speaks these transports", "`wirebench doctor` shows the drivers")
    return chosen


def calibrate_drivers(options: TargetOptions, pairs: Sequence[DriverTransport], progress: CalibrationProgress) -> Path:
    """Calibrate drivers one after the other, keep each that is complete, and return where.

    Raises WirebenchError, at the end, for those that failed.
    """
    prepare_folder()
    path, failed = None, dict[str, str]()
    in_cluster = options.kind == "kubernetes"
    opened = _open_load_pods(options, progress) if in_cluster else _open_this_machine(progress)
    with opened as calibrate:
        pair_s = sum(estimate_duration_s(driver) for driver, _ in pairs) / len(pairs) + in_cluster * AROUND_S
        left = TimeLeft(len(pairs), pair_s)
        progress.begin(left.compute_s())
        try:
            for done, pair in enumerate(pairs, start=1):
                try:
                    path = calibrate(*pair)
                except WirebenchError as error:
                    failed[f"{' '.join(pair)} ({error.message})"] = error.hint
                left.count_done(done)
                progress.end_driver(pair, done, len(pairs), left.compute_s())
        except Interrupted:
            progress.note(f"{path} has what was complete" if path else "nothing was kept")
            raise
    if failed or path is None:
        raise WirebenchError(f"not calibrated: {', '.join(failed)}", "; ".join(dict.fromkeys(failed.values())))
    return path


@contextlib.contextmanager
def _open_this_machine(progress: CalibrationProgress) -> Iterator[_Calibrate]:
    """Keep other runs from the cores while the block runs."""
    cores = divide_cores()
    with CoreClaim(cores.all):
        # Not before: a run that had the cores until now may have added to it.
        calibration, problem = read_calibration(Fingerprint.of(cores))
        for caveat in filter(None, (problem, *find_warnings(cores))):
            progress.note(caveat)
        progress.note(str(cores))

        def calibrate(driver: Driver, transport: Transport) -> Path:
            nonlocal calibration
            interference = Interference(cores.all)
            measured = calibration.add_points(_collect(measure_loads(driver, transport, cores), progress))
            path = write_undisturbed(measured, interference)
            calibration = measured
            return path

        yield calibrate


@contextlib.contextmanager
def _open_load_pods(options: TargetOptions, progress: CalibrationProgress) -> Iterator[_Calibrate]:
    """Have a namespace for load pods while the block runs, which keeps runs away as that of a run does."""
    target = options.make_load_target(make_run_id("calibration"))
    load = Load()
    others: list[float] = []

    def calibrate(driver: Driver, transport: Transport) -> Path:
        answer = pods.calibrate(target.load_pods, load, driver=(driver, transport))
        if answer.problems:
            raise WirebenchError("; ".join(answer.problems), "calibrate again")
        others.append(answer.interference)
        # Each pod may run on another node: its points are kept with those of the same conditions.
        calibration, _ = read_calibration(answer.conditions, answer.versions)
        return write_calibration(calibration.add_points(_collect(answer.points, progress)))

    try:
        target.prepare(())
        target.start(())
        first = pods.calibrate(target.load_pods, load)
        if problem := read_calibration(first.conditions, first.versions)[1]:
            progress.note(problem)
        progress.note(f"in load pods with a CPU limit of {first.conditions.cpu_limit:g} on {first.conditions.cpu}")
        yield calibrate
    finally:
        target.clean_up()
    # What a cluster runs beside its load pods is there in runs as well.
    if max(others, default=0) > INTERFERENCE_MAX:
        share = f"up to {max(others):.0%} of the node's CPU time"
        progress.note(f"other programs took {share}: errors are wider, and ceilings lower, than on a quieter node")


def _collect(points: Iterable[Point], progress: CalibrationProgress) -> tuple[Point, ...]:
    measured = []
    for point in points:
        progress.add_point(point)
        measured.append(point)
    return tuple(measured)
