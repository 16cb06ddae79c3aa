"""Signals that stop a service."""

from __future__ import annotations

import subprocess
import sys

import pytest

TWICE = """
import os, signal
from services.platform.signals import stop_signals

with stop_signals() as stop:
    os.kill(os.getpid(), signal.{first})
    assert stop.recv(1)
os.kill(os.getpid(), signal.{second})
print("drained")
"""
NEVER = """
import os, signal
from services.platform.signals import stop_signals

with stop_signals():
    pass
os.kill(os.getpid(), signal.SIGTERM)
print("drained")
"""


def run(program: str) -> tuple[int, str]:
    """Return the exit status of a program and what it printed."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("first", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
def test_what_stops_is_not_stopped_again(first: str, second: str) -> None:
    """A second signal doesn't end a worker that finishes what is in flight and leaves its folder."""
    assert (0, "drained\n") == run(TWICE.format(first=first, second=second))


def test_what_was_not_told_to_stop_can_be() -> None:
    """Without a first one, a signal does what it did before."""
    status, printed = run(NEVER)
    assert (-15, "") == (status, printed)
