"""What our output costs k6: throughput with and without it, and memory as samples grow; the limits are in Go."""

from __future__ import annotations

import subprocess

from wirebench.places import K6_SCRIPTS

_TIMEOUT_S = 900


def main() -> bool:
    """Run the Go benchmarks of the extension; they fail where a limit isn't kept."""
    command = ["go", "test", "-run", "^$", "-bench", ".", "-benchtime", "1x", "-timeout", f"{_TIMEOUT_S}s", "."]
    return subprocess.run(command, cwd=K6_SCRIPTS / "extension", timeout=_TIMEOUT_S, check=False).returncode == 0
