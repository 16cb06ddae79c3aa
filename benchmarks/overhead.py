"""How much of a run's time goes into anything else than warm-up, windows and service starts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from wirebench.results.runs import find_run

LIMIT = 0.15


def main() -> bool:
    """Run the quick scenario and compare its whole time with its parts."""
    command = Path(sys.executable).parent / "wirebench"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "run", "quick", "--out", folder], check=True, capture_output=True)
        info = find_run("last", Path(folder)).info
    whole_s, load_s, services_s = info.duration_s or 0.0, info.measured_s or 1.0, info.services_start_s or 0.0
    share = (whole_s - load_s - services_s) / load_s
    print(
        f"quick: {whole_s:.1f} s, of which load {load_s:.1f} s, services {services_s:.1f} s; the rest is {share:.1%} "
        f"of the load, limit {LIMIT:.0%}: {'ok' if share <= LIMIT else 'OVER'}"
    )
    return share <= LIMIT
