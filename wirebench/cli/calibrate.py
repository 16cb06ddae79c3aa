"""`wirebench calibrate`: measure what each driver's figures are worth on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from wirebench.cli.options import Verbosity
from wirebench.cli.verbosity import note
from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibration import (
    Point,
    estimate_duration_s,
    keep_undisturbed,
    list_transports,
    locate_calibration,
    measure_loads,
    read_calibration,
)
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.labels import format_error
from wirebench.present.numbers import format_duration
from wirebench.run.environment import find_warnings, read_machine
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets.cores import CoreClaim, divide_cores

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
    verbosity: Verbosity,
) -> None:
    """Measure how accurate each driver is on this machine.

    Each driver loads a server that logs when every request arrives and when its reply has been written. Error is what
    the driver measures minus the log. Per transport, wireload takes about 25 s and other drivers about a minute.

    Runs look both up: records carry them, and verdicts that depend on smaller differences are withheld. A run measures
    loads that were not calibrated by itself, in up to 30 s and coarsely.
    """
    verbosity.apply()
    pairs = _choose_drivers(driver or (), transport or ())
    with handle_interrupts(STOPPING):
        path = _calibrate(pairs)
    note(f"{path} is written; `wirebench doctor` shows it")


def _choose_drivers(drivers: Sequence[str], transports: Sequence[str]) -> list[tuple[Driver, Transport]]:
    """Return the drivers, by default all that are installed, with those of the transports that they speak.

    Raises UsageError if one isn't known or installed, or if there are none.
    """
    for option, names, known in (("driver", drivers, get_args(Driver)), ("transport", transports, TRANSPORTS)):
        for name in names:
            if name not in known:
                raise UsageError(f"--{option}: no {option} {name!r}", f"one of {', '.join(known)}")
    installed = [name for name, driver in DRIVERS.items() if driver.read_version()]
    for name in drivers:
        if name not in installed:
            raise UsageError(f"the driver {name} is not installed", f"run `{DRIVERS[name].setup}`")
    chosen = [
        (name, transport)
        for name in get_args(Driver)
        if name in (drivers or installed)
        for transport in list_transports(name)
        if transport in (transports or TRANSPORTS)
    ]
    if not chosen:
        raise UsageError("none of these drivers speaks these transports", "`wirebench doctor` shows the drivers")
    return chosen


def _calibrate(pairs: Sequence[tuple[Driver, Transport]]) -> Path:
    """Calibrate drivers one after the other, keep each that is complete, and return where.

    Raises WirebenchError, at the end, for those that failed.
    """
    failed, cores = dict[str, str](), divide_cores()
    with CoreClaim(cores.all):
        # Not before: a run that had the cores until now may have added to it.
        path = locate_calibration(cores, read_machine())
        calibration = read_calibration(path)
        for caveat in (*find_warnings(cores), str(cores)):
            note(caveat)
        left_s = sum(estimate_duration_s(driver) for driver, _ in pairs)
        note(f"about {format_duration(left_s)}")
        sys.stdout.write(_ROW.format(*_HEADINGS))
        for done, (driver, transport) in enumerate(pairs, start=1):
            interference, points = Interference(cores.all), list[Point]()
            try:
                for point in measure_loads(driver, transport, cores):
                    _print_point(point)
                    points.append(point)
                renewed = calibration.add_points(points)
                keep_undisturbed(renewed, path, interference)
                calibration = renewed
            except WirebenchError as error:
                failed[f"{driver} {transport} ({error.message})"] = error.hint
            left_s -= estimate_duration_s(driver)
            note(f"{done}/{len(pairs)}: {driver} {transport}; {format_duration(left_s)} left")
    if failed:
        raise WirebenchError(f"not calibrated: {', '.join(failed)}", "; ".join(dict.fromkeys(failed.values())))
    return path


def _print_point(point: Point) -> None:
    load = f"{point.rate_asked_per_s:,}/s" if point.rate_asked_per_s else "closed"
    figures = (load, point.concurrency, f"{point.server_ms:g}", f"{point.rate_per_s:,.0f}")
    errors = (format_error(each) for each in (point.p50_error_ms, point.p99_error_ms))
    sys.stdout.write(_ROW.format(point.driver, point.transport, *figures, *errors))
    sys.stdout.flush()
