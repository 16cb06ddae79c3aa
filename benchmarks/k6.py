"""What our output costs k6: throughput with and without it, memory as samples grow; limits are in Go."""

from __future__ import annotations

import subprocess

from wirebench.system.paths import K6_SCRIPTS

_TIMEOUT_S = 900


def main() -> bool:
    """Run the Go benchmarks of the extension; they fail where a limit isn't kept."""
    # Each decides itself how often to repeat what it measures.
    benchmark = ["-run", "^$", "-bench", ".", "-benchtime", "1x", "-timeout", f"{_TIMEOUT_S}s"]
    command = ["go", "test", *benchmark, "."]
    return subprocess.run(command, cwd=K6_SCRIPTS / "extension", timeout=_TIMEOUT_S, check=False).returncode == 0
