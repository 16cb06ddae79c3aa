"""Make targets that are thin: the command that each runs, as `make --dry-run` prints it."""

from __future__ import annotations

import os

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT


def command_of(*arguments: str) -> str:
    """Return the last command that make would run."""
    environment = {"PATH": os.environ["PATH"]}
    done = run_program(["make", "--dry-run", "--no-print-directory", *arguments], cwd=ROOT, env=environment, check=True)
    last = done.stdout.replace("\\\n", " ").splitlines()[-1]
    return " ".join(last.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run-rest"], "exec .venv/bin/wirebench-rest"),
        (
            ["run-grpc", "PORT=5005", "RUNTIME=aio", "WORKERS=2", "STORE=sqlite", "ARGS=--threads 4"],
            "exec .venv/bin/wirebench-grpc --port '5005' --runtime 'aio' --workers '2' --store 'sqlite' --threads 4",
        ),
        (["run-socket", "RUNTIME=goroutines"], "exec .tools/bin/wirebench-go socket --runtime 'goroutines'"),
        (
            ["fetch-hcs-timing", "TOPIC=0.0.7", "TIMING=hcs.json", "ARGS=--network testnet"],
            ".venv/bin/wirebench timing fetch-hcs --topic '0.0.7' --out 'hcs.json' --network testnet",
        ),
        (
            ["benchmark-replay", "TIMING=hcs.json", "BLOCKS=2"],
            ".venv/bin/wirebench run scenarios/replay.yaml --target local --timing 'hcs.json' --blocks 2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_variables_become_options(arguments: list[str], expected: str) -> None:
    """What isn't set isn't passed on."""
    assert expected == command_of(*arguments)
