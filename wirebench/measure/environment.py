"""What a measurement was made with and on: versions, machine, commit."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import psutil

from wirebench import network, processes
from wirebench.drivers import DRIVERS
from wirebench.places import ROOT
from wirebench.targets import Cores

_PACKAGES = (
    "wirebench",
    "wirebench-services",
    "flask",
    "gunicorn",
    "starlette",
    "uvicorn",
    "httptools",
    "uvloop",
    "grpcio",
    "protobuf",
    "orjson",
    "prometheus-client",
)
_STEAL_MAX = 0.02


def versions() -> dict[str, str]:
    """Return the versions of all that took part, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    tools = {**{name: driver.version() for name, driver in DRIVERS.items()}, "toxiproxy": network.version()}
    return found | {name: version for name, version in tools.items() if version}


def machine() -> dict[str, str]:
    """Return what the machine is, in words."""
    gibibytes = psutil.virtual_memory().total / 2**30
    return {
        "cpu": _cpu_model() or platform.processor() or platform.machine(),
        "cores": str(psutil.cpu_count() or 1),
        "memory": f"{gibibytes:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "frequency_governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) or "not visible",
    }


def commit() -> str | None:
    """Return the commit of the project, marked if files differ from it; None outside a checkout."""
    return processes.capture(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"])


def warnings(cores: Cores | None) -> Iterator[str]:
    """Yield what makes figures from this machine less sure, and what to do about it."""
    if cores is not None and cores.shared:
        yield "server and generator share their cores, and take CPU time from each other: use two cores or more"
    load = os.getloadavg()[0]
    if load > (psutil.cpu_count() or 1) / 2:
        yield f"other programs keep this machine busy (load average {load:.1f}): close them, or run again later"
    governor = _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
    if governor not in (None, "performance"):
        yield f"the CPU's frequency follows the load (governor {governor}): `cpupower frequency-set -g performance`"
    steal = getattr(psutil.cpu_times(), "steal", 0.0)
    total = sum(psutil.cpu_times())
    if total and steal / total > _STEAL_MAX:
        yield f"the hypervisor gave {steal / total:.1%} of this machine's CPU time to others: expect noise"


def _cpu_model() -> str | None:
    text = _read(Path("/proc/cpuinfo")) or ""
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), None)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
