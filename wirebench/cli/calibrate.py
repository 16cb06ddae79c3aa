"""`wirebench calibrate`: measure what each driver's figures are worth on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from wirebench.cli.log import LOG
from wirebench.cli.options import Verbosity
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
from wirebench.model.contract import Driver, Transport
from wirebench.present.labels import format_error
from wirebench.present.numbers import format_duration
from wirebench.run.environment import find_warnings, read_machine
from wirebench.targets.cores import CoreClaim, divide_cores

_HEADINGS = ("driver", "transport", "load", "connections", "reply, ms", "requests/s", "p50 error, ms", "p99 error, ms")
_ROW = "{:<9} {:<9} {:>8} {:>11} {:>9} {:>10}  {:<18} {}\n"


def calibrate(
    driver: Annotated[Driver | None, typer.Option(metavar="NAME", help="A driver; default: all installed.")] = None,
    transport: Annotated[
        Transport | None, typer.Option(metavar="NAME", help="rest, grpc or socket; default: all.")
    ] = None,
    *,
    verbosity: Verbosity,
) -> None:
    """Measure how accurate each driver is on this machine.

    Each driver loads a server that logs when every request arrives and when its reply has been written. Error is what
    the driver measures minus the log. Per transport, wireload takes about 25 s and other drivers about a minute.

    Records carry the error, and verdicts on smaller differences are withheld. A run calibrates its own loads, coarsely.

    wirebench calibrate
    wirebench calibrate --driver wireload --transport grpc
    """
    verbosity.apply()
    pairs = _choose_drivers(driver, transport)
    path = _calibrate(pairs)
    LOG.info("%s is written; `wirebench doctor` shows it", path)


def _choose_drivers(driver: Driver | None, transport: Transport | None) -> list[tuple[Driver, Transport]]:
    """Return a driver, by default all that are installed, with the transport, by default all that it speaks.

    Raises UsageError if it isn't installed, or if there are none.
    """
    installed = [name for name in get_args(Driver) if DRIVERS[name].read_version()]
    if driver and driver not in installed:
        raise UsageError(f"the driver {driver} is not installed", f"run `{DRIVERS[driver].setup}`")
    chosen = [
        (name, each)
        for name in ([driver] if driver else installed)
        for each in list_transports(name)
        if transport in (None, each)
    ]
    if not chosen:
        raise UsageError("no such driver speaks this transport", "`wirebench doctor` shows the drivers")
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
            LOG.info(caveat)
        left_s = sum(estimate_duration_s(driver) for driver, _ in pairs)
        LOG.info("about %s", format_duration(left_s))
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
            LOG.info("%d/%d: %s %s; %s left", done, len(pairs), driver, transport, format_duration(left_s))
    if failed:
        raise WirebenchError(f"not calibrated: {', '.join(failed)}", "; ".join(dict.fromkeys(failed.values())))
    return path


def _print_point(point: Point) -> None:
    load = f"{point.rate_asked_per_s:,}/s" if point.rate_asked_per_s else "closed"
    figures = (load, point.concurrency, f"{point.server_ms:g}", f"{point.rate_per_s:,.0f}")
    errors = (format_error(each) for each in (point.p50_error_ms, point.p99_error_ms))
    sys.stdout.write(_ROW.format(point.driver, point.transport, *figures, *errors))
    sys.stdout.flush()
