"""What our output costs k6: throughput with and without it, memory as samples grow, a snapshot; limits are in Go."""

from __future__ import annotations

import subprocess

from wirebench.system.paths import K6_SCRIPTS

_TIMEOUT_S = 900


def main() -> bool:
    """Run the Go benchmarks of the extension; they fail where a limit isn't kept."""
    # Each decides itself how often to repeat what it measures, but for that of a snapshot: fractions of a millisecond.
    return _go("1x", ".") and _go("1s", "./histogram")


def _go(benchtime: str, package: str) -> bool:
    benchmark = ["-run", "^$", "-bench", ".", "-benchtime", benchtime, "-timeout", f"{_TIMEOUT_S}s"]
    command = ["go", "test", *benchmark, package]
    return subprocess.run(command, cwd=K6_SCRIPTS / "extension", timeout=_TIMEOUT_S, check=False).returncode == 0
