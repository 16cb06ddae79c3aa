"""The Makefile, as far as `make --dry-run` shows."""

from __future__ import annotations

import os
import re
import shlex
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import parse
from tests.support.waiting import run_program
from wirebench.cli.run_options import parse_duration_s
from wirebench.system.paths import ROOT

VARIABLE = re.compile(r"(?m)^([A-Z_]+) \?= .*## ")
MAKEFILES = (ROOT / "Makefile", *ROOT.glob("make/*.mk"))
VARIABLES = [name for file in MAKEFILES for name in VARIABLE.findall(file.read_text())]


def make(*arguments: str) -> list[str]:
    """Return the lines that make prints."""
    command = ["make", "--no-print-directory", "--directory", str(ROOT), *arguments]
    # A `make test` around this one passes its own variables on.
    own = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", *VARIABLES}}
    done = run_program(command, check=True, env=own)
    return done.stdout.splitlines()


def list_commands(*arguments: str) -> list[str]:
    """Return the commands that make would run, each on one line."""
    return "\n".join(make("--dry-run", *arguments)).replace("\\\n", " ").splitlines()


def wirebench_arguments(command: str) -> Iterator[list[str]]:
    """Yield the arguments of each `wirebench` that a command would run."""
    for line in list_commands(*shlex.split(command)[1:]):
        if line.startswith(".venv/bin/wirebench "):
            yield shlex.split(line)[1:]


def test_no_variable_keeps_the_space_before_its_comment() -> None:
    """Make counts that space as part of the value, and a quoted value would pass it on."""
    recipe = "show:;" + "".join(f"$(info {name}=$({name})|)" for name in VARIABLES)
    shown = dict(line.removesuffix("|").split("=", 1) for line in make("--eval", recipe, "show") if "=" in line)
    assert set(VARIABLES) == shown.keys()
    assert {name: value.strip() for name, value in shown.items()} == shown


def test_no_rule_is_of_a_variable_that_nothing_sets() -> None:
    """It would be empty, and a rule would lack what it depends on. Numbers are arguments; GOFLAGS is the user's."""
    command = ["make", "--warn-undefined-variables", "--dry-run", "-C", str(ROOT), "help", "test", "cluster-up"]
    warned = set(re.findall(r"undefined variable '([A-Za-z]\w*)'", run_program(command).stderr))
    assert set() == warned - {"GOFLAGS"}


def test_the_path_of_a_checkout_may_hold_any_character() -> None:
    """A recipe leaves it to the shell, and no file that Python reads as the locale has it holds it."""
    assert [] == [file for file in MAKEFILES if re.search(r"CURDIR|abspath", file.read_text())]
    editable = list(Path(sysconfig.get_path("purelib")).glob("__editable__*.pth"))
    assert 3 == len(editable)
    assert all(file.read_text().startswith("import ") for file in editable)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run-rest"], "exec .venv/bin/wirebench-rest"),
        (
            ["run-grpc", "PORT=5005", "RUNTIME=aio", "WORKERS=2", "STORE=postgres", "ARGS=--threads 4"],
            "exec .venv/bin/wirebench-grpc --port '5005' --runtime 'aio' --workers '2' --store 'postgres' --threads 4",
        ),
        (["run-socket", "RUNTIME=goroutines"], "exec .tools/bin/wirebench-go socket --runtime 'goroutines'"),
        (
            ["benchmark-replay", "TIMING=hcs.json", "SEED=5"],
            '.venv/bin/wirebench run scenarios/replay.yaml --set load.timing="$(realpath "$TIMING")" --seed 5',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_variables_become_options(arguments: list[str], expected: str) -> None:
    """What isn't set isn't passed on."""
    assert expected == " ".join(list_commands(*arguments)[-1].split())


@pytest.mark.parametrize("transport", ["rest", "grpc", "socket"])
def test_a_plain_load_needs_no_variable(transport: str) -> None:
    """It is documented with its defaults: 8 connections for 30 s."""
    (arguments,) = wirebench_arguments(f"make load-{transport}")
    name, parameters = parse(arguments)
    assert ("load", transport, "8") == (name, parameters["transport"], parameters["concurrency"])
    assert 30 == parse_duration_s(parameters["duration"])


def list_built(*arguments: str) -> set[str]:
    """Return the tools that a target would build where none is there."""
    steps = "\n".join(make("--dry-run", "--always-make", *arguments))
    return set(re.findall(r'"([\w-]+): (?:building|making)', steps)) - {"python"}


@pytest.mark.parametrize(
    ("target", "built"),
    [
        ("bench", {"wireload", "truth"}),
        ("bench SCENARIO=codec", {"wireload", "truth", "toxiproxy-server", "wirebench-go"}),
        ("wheel", {"wireload", "truth", "wheel"}),
        ("setup-cross-check", {"wireload", "k6", "ghz"}),
        ("load-rest", {"wireload", "truth"}),
        ("load-rest TARGET=local", {"wireload", "truth", "k6"}),
        ("load-grpc TARGET=local", {"wireload", "truth", "ghz"}),
        ("load-grpc TARGET=local DRIVER=wireload", {"wireload", "truth"}),
        ("load-socket TARGET=local", {"wireload", "truth"}),
    ],
)
def test_what_a_target_needs_is_built(target: str, built: set[str]) -> None:
    """A proxy and services in Go for scenarios that may need them; of load tools, the one that sends."""
    assert built == list_built(*target.split())


def test_an_unknown_scenario_is_rejected_before_anything_is_built() -> None:
    """Its name may hold any character."""
    done = run_program(["make", "--no-print-directory", "-C", str(ROOT), "bench", 'SCENARIO=it\'s "nope"'])
    assert 2 == done.returncode
    assert done.stderr.startswith("bench: no scenario 'it's \"nope\"'; next: name a file, or one of: burst clients ")
