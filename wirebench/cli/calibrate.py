"""`wirebench calibrate`: measure what each driver's figures are worth on this machine, or in load pods."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from wirebench.cli.options import Cluster, Verbosity, make_target_option
from wirebench.cli.target import make_target_options
from wirebench.cli.verbosity import note
from wirebench.errors import UsageError
from wirebench.measure.calibration import Point
from wirebench.model.contract import Driver, Transport
from wirebench.model.labels import format_error
from wirebench.present.numbers import format_duration
from wirebench.run.driver_calibration import DriverTransport, calibrate_drivers, choose_drivers
from wirebench.system.signals import STOPPING, handle_interrupts

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
    verbosity: Verbosity,
) -> None:
    """Measure how accurate each driver is, here or in a cluster.

    Each driver loads a server that logs when every request arrives and when its reply has been written. Error is what
    the driver measures minus the log. Per transport, wireload takes about 25 s and other drivers about a minute.

    Runs look both up: records carry them, and verdicts that depend on smaller differences are withheld. A run measures
    loads that were not calibrated by itself, in up to 30 s and coarsely. Runs in a cluster use what was calibrated with
    --target kubernetes.
    """
    verbosity.apply()
    if target == "external":
        raise UsageError("--target external: its drivers run on this machine", "calibrate them without the option")
    options = make_target_options(target, {}, cluster=cluster)
    _check_names("driver", driver or (), get_args(Driver))
    _check_names("transport", transport or (), get_args(Transport))
    pairs = choose_drivers(driver or (), transport or (), in_cluster=options.kind == "kubernetes")
    with handle_interrupts(STOPPING):
        path = calibrate_drivers(options, pairs, CalibrationTable())
    note(f"{path} is written; `wirebench doctor` shows it")


def _check_names(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"--{option}: no {option} {name!r}", f"one of {', '.join(known)}")


class CalibrationTable:
    """Prints a row for each point, and the rest beside it."""

    def note(self, text: str) -> None:
        note(text)

    def begin(self, expected_s: float) -> None:
        note(f"about {format_duration(expected_s)}")
        sys.stdout.write(_ROW.format(*_HEADINGS))

    def add_point(self, point: Point) -> None:
        load = f"{point.rate_asked_per_s:,}/s" if point.rate_asked_per_s else "closed"
        figures = (load, point.concurrency, f"{point.server_ms:g}", f"{point.rate_per_s:,.0f}")
        errors = (format_error(each) for each in (point.waited.p50_ms, point.waited.p99_ms))
        sys.stdout.write(_ROW.format(point.driver, point.transport, *figures, *errors))
        sys.stdout.flush()

    def end_driver(self, pair: DriverTransport, done: int, total: int, left_s: float) -> None:
        note(f"{done}/{total}: {' '.join(pair)}; {format_duration(left_s)} left")
