"""What a measurement was made with and on: versions, machine, commit."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import psutil

from wirebench.drivers import DRIVERS
from wirebench.measure import toxiproxy
from wirebench.system import processes
from wirebench.system.paths import IS_WHEEL, ROOT
from wirebench.system.processes import ProcessError
from wirebench.targets.cores import Cores

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
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_STEAL_MAX = 0.02
#: How busy other programs may keep the machine before a run, and how long that is looked at.
_BUSY_MAX = 0.25
_LOOK_S = 0.5
_GIT_TIMEOUT_S = 10.0


def read_versions() -> dict[str, str]:
    """Return the versions of all that took part, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    tools = {**{name: driver.read_version() for name, driver in DRIVERS.items()}, "toxiproxy": toxiproxy.read_version()}
    return found | {name: version for name, version in tools.items() if version}


def read_machine() -> dict[str, str]:
    lines = (_read(Path("/proc/cpuinfo")) or "").splitlines()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    gibibytes = psutil.virtual_memory().total / 2**30
    return {
        "cpu": next(models, None) or platform.processor() or platform.machine(),
        "cores": str(psutil.cpu_count() or 1),
        "memory": f"{gibibytes:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "frequency_governor": _read(_GOVERNOR) or "not visible",
    }


def read_commit() -> str | None:
    """Return the commit of the checkout, or of that which built the wheel; None if unknown.

    It ends in `-dirty` if tracked files differ, but for documents: no run depends on those, and some hold its results.
    """
    if IS_WHEEL:
        return _read(ROOT / "commit")
    git = ["git", "-C", str(ROOT)]
    try:
        commit = processes.run("git", [*git, "describe", "--always", "--abbrev=12"], _GIT_TIMEOUT_S).strip()
        differs = processes.run("git", [*git, "diff", "--name-only", "HEAD", "--", ".", ":!docs"], _GIT_TIMEOUT_S)
    except ProcessError:
        return None
    return f"{commit}-dirty" if differs else commit


def find_warnings(cores: Cores | None) -> Iterator[str]:
    """Yield caveats of figures from this machine, and what to do about them."""
    if cores is not None and cores.shared:
        yield f"{cores}, and take CPU time from each other: figures stand if the generator needs 10 % of them or less"
    # Not the load average: it still has what set up this run.
    busy_share = psutil.cpu_percent(interval=_LOOK_S) / 100
    if busy_share > _BUSY_MAX:
        yield f"other programs keep {busy_share:.0%} of this machine busy: close them, or run again later"
    governor = _read(_GOVERNOR)
    if governor not in (None, "performance"):
        yield f"the CPU's frequency follows the load (governor {governor}): `cpupower frequency-set -g performance`"
    steal = getattr(psutil.cpu_times(), "steal", 0.0)
    total = sum(psutil.cpu_times())
    if total and steal / total > _STEAL_MAX:
        yield f"the hypervisor gave {steal / total:.1%} of this machine's CPU time to others: expect noise"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
