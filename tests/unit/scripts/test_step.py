"""scripts/step: what it prints of a command, alone and beside other steps."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from typing import TextIO

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

STEP = ROOT / "scripts/step"


def run(command: str, environment: Mapping[str, str], stdout: int | TextIO = subprocess.PIPE) -> tuple[int, str]:
    """Return the exit status and what was printed, unless it went elsewhere, with every duration as N."""
    own = {name: value for name, value in os.environ.items() if name != "PARALLEL"}
    done = run_program([STEP, "it", "bash", "-c", command], env={**own, **environment}, stdout=stdout)
    return done.returncode, hide_durations(done.stdout or "")


def hide_durations(text: str) -> str:
    """Write N for all of them."""
    return re.sub(r"\d+ s\b", "N s", text)


@pytest.mark.parametrize(
    ("environment", "good", "failed"),
    [
        ({}, "it ... N s\n", "it ... FAILED after N s\nwhy\n"),
        ({"PARALLEL": "yes"}, "it ...\nit: N s\n", "it ...\nit: FAILED after N s\nwhy\n"),
    ],
    ids=["alone", "beside others"],
)
def test_a_step_prints_whole_lines_where_others_print(environment: dict[str, str], good: str, failed: str) -> None:
    """Alone it is one line. What the command printed is shown if it fails, and its status is kept."""
    assert (0, good) == run("echo quiet", environment)
    assert (3, failed) == run("echo why; exit 3", environment)
