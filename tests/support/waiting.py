"""Waiting for other programs, with a limit for what never comes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

#: What takes a second on a quiet machine may take much longer on a busy one.
TIMEOUT_S = 120.0

_T = TypeVar("_T")


def wait_until(
    condition: Callable[[], _T | None],
    what: str,
    seen: Callable[[], object] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    pause_s: float = 0.02,
) -> _T:
    """Return the first true result of a condition; at the limit, fail with the last result, or with what is seen."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain until {what}: {seen() if seen else found!r}"
        time.sleep(pause_s)
    return found


def run_program(
    command: Sequence[str | Path],
    *,
    timeout: float = TIMEOUT_S,
    check: bool = False,
    **options: Any,  # noqa: ANN401 - of subprocess.run
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return what it has printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, text=True, timeout=timeout, check=check, **pipes | options)
