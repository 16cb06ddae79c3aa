"""`wirebench doctor`: whether this machine is fit to measure on."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import typer

from wirebench.cli.console import fit_installation
from wirebench.drivers import DRIVERS
from wirebench.drivers.driver import SETUP
from wirebench.errors import WirebenchError
from wirebench.measure import toxiproxy
from wirebench.measure.calibration import Point, list_transports, locate_calibration, read_calibration
from wirebench.model.contract import Driver
from wirebench.model.record import join_intervals
from wirebench.present.labels import format_error
from wirebench.present.numbers import format_number
from wirebench.run import environment
from wirebench.system.paths import DEFAULT_FOLDER
from wirebench.targets.cores import divide_cores

_DISK_BYTES_MIN = 200 * 2**20


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `fatal` ones keep `wirebench run` from working."""

    text: str
    good: bool = True
    fatal: bool = False


def doctor() -> None:
    """Check this machine for what would spoil runs or their figures.

    It exits with 1 if `wirebench run` can't work.

    wirebench doctor
    """
    checks = [*_check_tools(), *_check_calibration(), *_check_machine()]
    for check in checks:
        mark = "ok" if check.good else "FAIL" if check.fatal else "warn"
        sys.stdout.write(f"{mark:5} {fit_installation(check.text)}\n")
    if any(check.fatal and not check.good for check in checks):
        raise typer.Exit(1)


def _check_tools() -> Iterator[Check]:
    versions = environment.read_versions()
    yield Check(f"Python {versions['python']}")
    tools = [(name, driver.path, driver.setup) for name, driver in DRIVERS.items()]
    for name, path, setup in (*tools, ("toxiproxy", toxiproxy.PROGRAM, SETUP)):
        found, optional = name in versions, name != "wireload"
        text = f"{name} {versions[name]}" if found else f"{name} is not at {path}: run `{setup}`"
        yield Check(f"{text}, if a scenario asks for it" if optional and not found else text, found, not optional)
    for transport in ("rest", "grpc", "socket"):
        command = Path(sys.executable).parent / f"wirebench-{transport}"
        text = command.name if command.exists() else f"{command} is missing: run `make setup`"
        yield Check(text, command.exists(), fatal=True)


def _check_calibration() -> Iterator[Check]:
    try:
        calibration = read_calibration(locate_calibration(divide_cores(), environment.read_machine()))
    except WirebenchError as error:
        yield Check(f"{error.message}: {error.hint}", good=False)
        return
    unknown = []
    for name in get_args(Driver):
        for transport in list_transports(name) if DRIVERS[name].read_version() else ():
            if points := calibration.find_points(name, transport):
                yield Check(_describe(points))
            else:
                unknown.append(f"{name} {transport}")
    if unknown:
        yield Check(f"not calibrated: {', '.join(unknown)}; `wirebench calibrate` measures all, a run its own loads")


def _describe(points: Sequence[Point]) -> str:
    """Describe the calibration of a driver on a transport; its error at its ceiling is left out."""
    first, coarse = points[0], all(point.coarse for point in points)
    ceiling_per_s = max((point.rate_per_s for point in points if point.is_ceiling), default=None)
    below = [point for point in points if not point.is_ceiling]
    p50_ms = join_intervals(each.p50_error_ms for each in below)
    p99_ms = join_intervals(each.p99_error_ms for each in below if each.p99_error_ms)
    errors = f"error of p50 {format_error(p50_ms)} ms, of p99 {format_error(p99_ms)} ms"
    how = f"{'coarsely ' * coarse}calibrated"
    return f"{first.driver} {first.transport}: up to {format_number(ceiling_per_s)} requests/s; {errors} ({how})"


def _check_machine() -> Iterator[Check]:
    facts = environment.read_machine()
    yield Check(f"{facts['cpu']}, {facts['cores']} cores, {facts['memory']}, {facts['kernel']}")
    cores = divide_cores()
    yield Check(str(cores), not cores.shared)
    for warning in environment.find_warnings(cores):
        yield Check(warning, good=False)
    folder = DEFAULT_FOLDER if DEFAULT_FOLDER.exists() else Path()
    free = shutil.disk_usage(folder).free
    text = f"{free / 2**30:.1f} GiB free for results in {folder.resolve()}"
    yield Check(text, free >= _DISK_BYTES_MIN, fatal=True)
