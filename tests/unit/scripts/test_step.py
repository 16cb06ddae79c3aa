"""scripts/step: what it prints of a command, alone and beside other steps."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from wirebench.system.paths import ROOT

STEP = ROOT / "scripts/step"


def run(command: str, **environment: str) -> tuple[int, str]:
    """Return the exit status and what was printed, with every duration as N."""
    own = {name: value for name, value in os.environ.items() if name != "PARALLEL"}
    done = subprocess.run(
        [STEP, "it", "bash", "-c", command], stdout=subprocess.PIPE, text=True, check=False, env=own | environment
    )
    return done.returncode, re.sub(r"\d+ s\b", "N s", done.stdout)


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
    assert (0, good) == run("echo quiet", **environment)
    assert (3, failed) == run("echo why; exit 3", **environment)


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({}, "it ... 1 min ... 2 min ... N s\n"),
        ({"PARALLEL": "yes"}, "it ...\nit: 1 min ...\nit: 2 min ...\nit: N s\n"),
    ],
    ids=["alone", "beside others"],
)
def test_a_long_step_says_every_minute_that_it_still_runs(environment: dict[str, str], printed: str) -> None:
    """Minutes of one second each, here; what is counted ends with the step."""
    assert (0, printed) == run("sleep 2.6", STEP_MINUTE_S="1", **environment)
