"""`wirebench doctor`: whether this machine is fit to measure on."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from wirebench import network
from wirebench.drivers import DRIVERS
from wirebench.drivers.driver import SETUP
from wirebench.measure import environment
from wirebench.store.results import DEFAULT_FOLDER
from wirebench.targets import divide_cores

_DISK_BYTES_MIN = 200 * 2**20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `fatal` ones keep `wirebench run` from working."""

    text: str
    good: bool = True
    fatal: bool = False


def doctor() -> None:
    """Look for what would spoil runs, or the trust in their figures."""
    findings = [*_tools(), *_machine()]
    for finding in findings:
        mark = "ok" if finding.good else "FAIL" if finding.fatal else "warn"
        sys.stdout.write(f"{mark:5} {finding.text}\n")
    if any(finding.fatal and not finding.good for finding in findings):
        raise typer.Exit(1)


def _tools() -> Iterator[Finding]:
    versions = environment.versions()
    yield Finding(f"Python {versions['python']}")
    tools = [(name, driver.path(), driver.setup) for name, driver in DRIVERS.items()]
    for name, path, setup in (*tools, ("toxiproxy", network.path(), SETUP)):
        found, optional = name in versions, name != "wireload"
        text = f"{name} {versions[name]}" if found else f"{name} is not at {path}: run `{setup}`"
        yield Finding(f"{text}, if a scenario asks for it" if optional and not found else text, found, not optional)
    for transport in ("rest", "grpc", "socket"):
        command = Path(sys.executable).parent / f"wirebench-{transport}"
        text = command.name if command.exists() else f"{command} is missing: run `make setup`"
        yield Finding(text, command.exists(), fatal=True)


def _machine() -> Iterator[Finding]:
    facts = environment.machine()
    yield Finding(f"{facts['cpu']}, {facts['cores']} cores, {facts['memory']}, {facts['kernel']}")
    cores = divide_cores()
    yield Finding(str(cores), not cores.shared)
    for warning in environment.warnings(cores):
        yield Finding(warning, good=False)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 0))
            yield Finding("loopback ports can be had")
        except OSError as error:
            yield Finding(f"no port on 127.0.0.1: {error}", good=False, fatal=True)
    folder = DEFAULT_FOLDER if DEFAULT_FOLDER.exists() else Path()
    free = shutil.disk_usage(folder).free
    text = f"{free / 2**30:.1f} GiB free for results in {folder.resolve()}"
    yield Finding(text, free >= _DISK_BYTES_MIN, fatal=True)
