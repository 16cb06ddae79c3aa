"""`make clean` removes nothing that a running program needs. The engine is played by a script."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import TIMEOUT_S, run_program
from wirebench.system.paths import ROOT

SCRIPTS = ROOT / "scripts"
CLUSTER = ("build/cluster/kubeconfig", "io.x-k8s.kind.cluster=wirebench", "make cluster-down clean")
COMPOSE = ("build/compose/images.env", "com.docker.compose.project=wirebench-compose", "make compose-down clean")


def check(folder: Path, file: str, docker: str) -> subprocess.CompletedProcess[str]:
    """Run the check in a copy of the project that has a file, with a program that plays docker."""
    shutil.copytree(SCRIPTS, folder / "scripts")
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).touch()
    program = folder / "bin/docker"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{docker}\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    command = [folder / "scripts/check-unused"]
    return run_program(command, env=environment)


def engine(label: str) -> str:
    """Give the program of an engine with one container, of this label."""
    return f'case "$*" in version*) echo 1 ;; *label={label}*) echo a-container ;; esac'


@pytest.mark.parametrize(("file", "label", "hint"), [CLUSTER, COMPOSE])
def test_what_runs_is_ended_first(tmp_path: Path, file: str, label: str, hint: str) -> None:
    """The check fails and says how to end it."""
    done = check(tmp_path, file, engine(label))
    assert 1 == done.returncode
    assert f"next: {hint}" in done.stderr


def test_a_postgresql_that_runs_is_ended_first(tmp_path: Path) -> None:
    """So it is with the server of make postgres-up; what a killed one has left doesn't prevent cleaning."""
    server = tmp_path / "postgres"
    shutil.copy("/bin/sleep", server)
    with subprocess.Popen([server, "30"]) as running:
        try:
            pid_file = tmp_path / "project/build/postgres/data/postmaster.pid"
            pid_file.parent.mkdir(parents=True)
            pid_file.write_text(f"{running.pid}\n/data\n")
            done = check(tmp_path / "project", "build/other", "exit 1")
        finally:
            running.kill()
    assert 1 == done.returncode
    assert "next: make postgres-down clean" in done.stderr
    again = subprocess.run(
        [tmp_path / "project/scripts/check-unused"], capture_output=True, timeout=TIMEOUT_S, check=False
    )
    assert (0, b"") == (again.returncode, again.stderr)


@pytest.mark.parametrize(("file", "label"), [(CLUSTER[0], COMPOSE[1]), (COMPOSE[0], CLUSTER[1])])
def test_what_another_folder_runs_is_none_of_its_business(tmp_path: Path, file: str, label: str) -> None:
    """Containers whose files aren't here need nothing that is."""
    done = check(tmp_path, file, engine(label))
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("file", [CLUSTER[0], COMPOSE[0]])
def test_without_an_engine_nothing_runs(tmp_path: Path, file: str) -> None:
    """What an ended engine has left doesn't prevent cleaning."""
    done = check(tmp_path, file, "exit 1")
    assert (0, "") == (done.returncode, done.stderr)
