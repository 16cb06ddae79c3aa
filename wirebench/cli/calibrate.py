"""`wirebench calibrate`: measure what each driver's figures are worth on this machine, or in load pods."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from wirebench.cli.options import Cluster, make_target_option
from wirebench.cli.target import make_target_options
from wirebench.cli.verbosity import note
from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibrate import climb_ladder, estimate_duration_s, list_transports, write_undisturbed
from wirebench.measure.calibration import Fingerprint, Point, prepare_folder, read_calibration, write_calibration
from wirebench.measure.environment import find_warnings
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.labels import format_error
from wirebench.model.scenario import Load
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.present.numbers import format_duration
from wirebench.results.runs import make_run_id
from wirebench.run.load_pod import pods
from wirebench.run.progress import TimeLeft
from wirebench.run.target_options import TargetOptions
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts
from wirebench.targets import divide_cores
from wirebench.targets.cores import CoreClaim
from wirebench.targets.kubernetes.load import AROUND_S

#: Measures the ladder of a driver on a transport, shows its points, keeps them, and returns where.
Climb = Callable[[Driver, Transport], Path]

_HEADINGS = ("driver", "transport", "load", "connections", "reply, ms", "requests/s", "p50 error, ms", "p99 error, ms")
_ROW = "{:<9} {:<9} {:>8} {:>11} {:>9} {:>10}  {:<18} {}\n"


def calibrate(
    driver: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A driver; repeat for several. Default: all installed.")
    ] = None,
    transport: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="rest, grpc or socket; repeat for several. Default: all.")
    ] = None,
    *,
    target: Annotated[
        str, make_target_option("Where drivers run: local, or kubernetes for the load pods of a cluster", "local")
    ] = "local",
    cluster: Cluster,
) -> None:
    """Measure how accurate each driver is, here or in a cluster.

    Each driver loads a server that logs when every request arrives and when its reply has been written. Error is what
    the driver measures minus the log. Per transport, wireload takes about 25 s and other drivers about a minute.

    Runs look both up: records carry them, and verdicts that depend on smaller differences are withheld. A run measures
    loads that were not calibrated by itself, in up to 20 s and coarsely. Runs in a cluster use what was calibrated with
    --target kubernetes.
    """
    if target == "external":
        raise UsageError("--target external: its drivers run on this machine", "calibrate them without the option")
    options = make_target_options(target, {}, cluster=cluster)
    in_cluster = options.kind == "kubernetes"
    pairs = _choose_in_cluster(driver or [], transport or []) if in_cluster else _choose(driver or [], transport or [])
    prepare_folder()
    path = None
    with handle_interrupts(STOPPING), _open_load_pods(options) if in_cluster else _open_this_machine() as climb:
        pair_s = sum(estimate_duration_s(name) for name, _ in pairs) / len(pairs) + in_cluster * AROUND_S
        left = TimeLeft(len(pairs), pair_s)
        note(f"about {format_duration(left.compute_s())}")
        sys.stdout.write(_ROW.format(*_HEADINGS))
        failed: dict[str, str] = {}
        try:
            for done, (name, spoken) in enumerate(pairs, start=1):
                try:
                    path = climb(name, spoken)
                except WirebenchError as error:
                    failed[f"{name} {spoken} ({error.message})"] = error.hint
                left.count_done(done)
                note(f"{done}/{len(pairs)}: {name} {spoken}; {format_duration(left.compute_s())} left")
        except Interrupted:
            note(f"{path} has what was complete" if path else "nothing was kept")
            raise
    if failed:
        raise WirebenchError(f"not calibrated: {', '.join(failed)}", "; ".join(dict.fromkeys(failed.values())))
    note(f"{path} is written; `wirebench doctor` shows it")


@contextlib.contextmanager
def _open_this_machine() -> Iterator[Climb]:
    """Keep other runs from the cores while the block runs."""
    cores = divide_cores()
    with CoreClaim(cores.all):
        # Not before: a run that had the cores until now may have added to it.
        calibration, problem = read_calibration(Fingerprint.of(cores))
        for caveat in filter(None, (problem, *find_warnings(cores))):
            note(caveat)
        note(str(cores))

        def climb(driver: Driver, transport: Transport) -> Path:
            nonlocal calibration
            interference = Interference(cores.all)
            measured = calibration.add_points(tuple(_show(climb_ladder(driver, transport, cores))))
            path = write_undisturbed(measured, interference)
            calibration = measured
            return path

        yield climb


@contextlib.contextmanager
def _open_load_pods(options: TargetOptions) -> Iterator[Climb]:
    """Have a namespace for load pods while the block runs, which keeps runs away as that of a run does."""
    target = options.make_load_target(make_run_id("calibration"))
    load = Load()
    others: list[float] = []

    def climb(driver: Driver, transport: Transport) -> Path:
        answer = pods.calibrate(target.load_pods, load, ladder=(driver, transport))
        if answer.problems:
            raise WirebenchError("; ".join(answer.problems), "calibrate again")
        others.append(answer.interference)
        # Each pod may run on another node: its points are kept with those of the same conditions.
        calibration, _ = read_calibration(answer.conditions, answer.versions)
        return write_calibration(calibration.add_points(tuple(_show(answer.points))))

    try:
        target.prepare(())
        target.start(())
        first = pods.calibrate(target.load_pods, load)
        if problem := read_calibration(first.conditions, first.versions)[1]:
            note(problem)
        note(f"in load pods with a CPU limit of {first.conditions.cpu_limit:g} on {first.conditions.cpu}")
        yield climb
    finally:
        target.clean_up()
    # What a cluster runs beside its load pods is there in runs as well.
    if max(others, default=0) > INTERFERENCE_MAX:
        share = f"up to {max(others):.0%} of the node's CPU time"
        note(f"other programs took {share}: errors are wider, and ceilings lower, than on a quieter node")


def _choose(drivers: Sequence[str], transports: Sequence[str]) -> list[tuple[Driver, Transport]]:
    """Return what is asked for and installed. Raises UsageError."""
    _check_names(drivers, transports)
    for name in drivers:
        if DRIVERS[name].read_version() is None:
            raise UsageError(f"the driver {name} is not installed", f"run `{DRIVERS[name].setup}`")
    installed = [name for name in drivers or DRIVERS if DRIVERS[name].read_version()]
    return _pair(installed, transports, "no driver that is installed speaks these transports")


def _choose_in_cluster(drivers: Sequence[str], transports: Sequence[str]) -> list[tuple[Driver, Transport]]:
    """Return what is asked for and in the image of load pods. Raises UsageError."""
    _check_names(drivers, transports)
    present = [name for name, facts in DRIVER_FACTS.items() if facts.in_clusters]
    for name in drivers:
        if name not in present:
            raise UsageError(f"{name} is not in the image of the load pods", f"one of {', '.join(present)}")
    return _pair(drivers or present, transports, "none of these drivers speaks these transports")


def _check_names(drivers: Sequence[str], transports: Sequence[str]) -> None:
    for option, names, known in (("driver", drivers, get_args(Driver)), ("transport", transports, get_args(Transport))):
        for name in names:
            if name not in known:
                raise UsageError(f"--{option}: no {option} {name!r}", f"one of {', '.join(known)}")


def _pair(drivers: Sequence[str], transports: Sequence[str], nothing: str) -> list[tuple[Driver, Transport]]:
    """Return the drivers with those of the transports that they speak. Raises UsageError if there are none."""
    chosen = [
        (name, transport)
        for name in get_args(Driver)
        if name in drivers
        for transport in list_transports(name)
        if transport in (transports or TRANSPORTS)
    ]
    if not chosen:
        raise UsageError(nothing, "`wirebench doctor` shows the drivers")
    return chosen


def _show(points: Iterable[Point]) -> Iterator[Point]:
    for point in points:
        load = f"{point.rate_asked_per_s:,}/s" if point.rate_asked_per_s else "closed"
        figures = (load, point.concurrency, f"{point.server_ms:g}", f"{point.rate_per_s:,.0f}")
        errors = (format_error(each) for each in (point.waited.p50_ms, point.waited.p99_ms))
        sys.stdout.write(_ROW.format(point.driver, point.transport, *figures, *errors))
        sys.stdout.flush()
        yield point
