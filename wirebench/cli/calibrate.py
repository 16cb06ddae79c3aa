"""`wirebench calibrate`: measure what each driver's figures are worth on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, get_args

import typer

from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibrate import climb_ladder, estimate_duration_s, list_transports, write_undisturbed
from wirebench.measure.calibration import Conditions, Point, read_calibration
from wirebench.measure.environment import find_warnings
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.labels import format_error
from wirebench.present.numbers import format_duration
from wirebench.run.progress import TimeLeft
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts
from wirebench.targets import divide_cores
from wirebench.targets.cores import CoreClaim

_HEADINGS = ("driver", "transport", "load", "connections", "reply, ms", "requests/s", "p50 error, ms", "p99 error, ms")
_ROW = "{:<9} {:<9} {:>8} {:>11} {:>9} {:>10}  {:<18} {}\n"


def calibrate(
    driver: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A driver; repeat for several. Default: all installed.")
    ] = None,
    transport: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="rest, grpc or socket; repeat for several. Default: all.")
    ] = None,
) -> None:
    """Measure how accurate each driver is on this machine.

    Each driver loads a server that logs when every request arrives and when its reply has been written. Error is what
    the driver measures minus the log. Per transport, wireload takes about 25 s and other drivers about a minute.

    Runs look both up: records carry them, and verdicts that depend on smaller differences are withheld. A run measures
    loads that were not calibrated by itself, in up to 20 s and coarsely.
    """
    pairs = _choose(driver or [], transport or [])
    cores = divide_cores()
    path = None
    with handle_interrupts(STOPPING), CoreClaim(cores.all):
        # Not before: a run that had the cores until now may have added to it.
        calibration, problem = read_calibration(Conditions.of(cores))
        for caveat in filter(None, (problem, *find_warnings(cores))):
            _note(caveat)
        left = TimeLeft(len(pairs), sum(estimate_duration_s(name) for name, _ in pairs) / len(pairs))
        _note(f"{cores}; about {format_duration(left.compute_s())}")
        sys.stdout.write(_ROW.format(*_HEADINGS))
        failed: list[str] = []
        try:
            for done, (name, spoken) in enumerate(pairs, start=1):
                try:
                    interference = Interference(cores.all)
                    measured = calibration.add_points(tuple(_show(climb_ladder(name, spoken, cores))))
                    path = write_undisturbed(measured, interference)
                    calibration = measured
                except WirebenchError as error:
                    failed.append(f"{name} {spoken} ({error.message})")
                left.count_done(done)
                _note(f"{done}/{len(pairs)}: {name} {spoken}; {format_duration(left.compute_s())} left")
        except Interrupted:
            _note(f"{path} has what was complete" if path else "nothing was kept")
            raise
    if failed:
        raise WirebenchError(f"not calibrated: {', '.join(failed)}", "run it again while nothing else runs here")
    _note(f"{path} is written; `wirebench doctor` shows it")


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _choose(drivers: Sequence[str], transports: Sequence[str]) -> list[tuple[Driver, Transport]]:
    """Return what is asked for and installed. Raises UsageError."""
    for option, names, known in (("driver", drivers, get_args(Driver)), ("transport", transports, get_args(Transport))):
        for name in names:
            if name not in known:
                raise UsageError(f"--{option}: no {option} {name!r}", f"one of {', '.join(known)}")
    for name in drivers:
        if DRIVERS[name].read_version() is None:
            raise UsageError(f"the driver {name} is not installed", f"run `{DRIVERS[name].setup}`")
    chosen = [
        (name, transport)
        for name in get_args(Driver)
        if name in (drivers or DRIVERS) and DRIVERS[name].read_version()
        for transport in list_transports(name)
        if transport in (transports or TRANSPORTS)
    ]
    if not chosen:
        raise UsageError("no driver that is installed speaks these transports", "`wirebench doctor` shows the drivers")
    return chosen


def _show(points: Iterable[Point]) -> Iterator[Point]:
    for point in points:
        load = f"{point.rate_asked_per_s:,}/s" if point.rate_asked_per_s else "closed"
        figures = (load, point.concurrency, f"{point.server_ms:g}", f"{point.rate_per_s:,.0f}")
        errors = (format_error(each) for each in (point.waited.p50_ms, point.waited.p99_ms))
        sys.stdout.write(_ROW.format(point.driver, point.transport, *figures, *errors))
        sys.stdout.flush()
        yield point
