"""Commands of README and docs that need the cluster, as they are printed; `make undeploy` comes last."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, wait_until
from tests.support.printed_commands import Place, Printed, select_commands
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT
from wirebench.targets.cluster.namespace import LABEL

#: Of a command that builds images.
TIMEOUT_S = 1200
FIRST, LAST = "make load-rest", "make undeploy"
#: Together they take half an hour.
COMMANDS = [
    pytest.param(command, marks=() if command.text == FIRST else pytest.mark.slow)
    for command in sorted(select_commands(Place.CLUSTER), key=lambda each: (each.text == LAST, each.text != FIRST))
]


@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_printed_command_does_what_it_says(command: Printed, cluster: Cluster, tmp_path: Path) -> None:
    """It ends with success; a plain load prints its figures."""
    wait_until(lambda: not cluster.get("namespaces", f"--selector={LABEL}"), "no run is measuring")
    # Variables that make was given to run the tests aren't for it.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARGS")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    run = partial(run_program, env=environment, timeout=TIMEOUT_S)
    done = run(["bash", "-c", command.text], cwd=tmp_path if command.text.startswith("wirebench ") else ROOT)
    if command.text == LAST or "REPLICAS=2" in command.text:
        run(["make", "deploy"], cwd=ROOT, check=True)
    assert 0 == done.returncode, done.stderr
    if "make load-" in command.text:
        assert re.search(r"errors +CPU/req", done.stdout), done.stdout
