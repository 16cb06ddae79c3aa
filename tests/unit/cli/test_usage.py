"""Commands, their help and their completion; wrong arguments: exit status 2, and what is wrong."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.command_line import parse, reject, wirebench
from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import run_program
from wirebench.cli.app import COMMANDS
from wirebench.cli.run_options import complete_keys, list_operations
from wirebench.model.application import load_builtin
from wirebench.model.scenario import Objective
from wirebench.model.validation_messages import list_keys
from wirebench.plan.load import SECTIONS
from wirebench.system.paths import ROOT

SCREEN_LINES = 48


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("nothing", "nothing"),
        ("run", "there is no scenario"),
        ("run qiuck", "no scenario 'qiuck'\nnext: there are quick"),
        ("run quick --target moon", "'moon' is not one of 'local'"),
        ("run quick --target external", "no address is given"),
        ("run quick --target external --rest nowhere", "'nowhere' is not an address"),
        ("run quick --rest a:1 --rest b:1", "one address of each transport"),
        ("run quick --target local --rest a:1", "--rest: the local target starts its services itself"),
        ("run quick --set load.timing=bursts.json", "load.timing"),
        (
            "run quick --status 200",
            "--status, --header, --metadata and --ignore-bodies are for requests without a scenario",
        ),
        ("run quick --prometheus localhost:9090", "not the URL of a Prometheus"),
        ("run quick --prometheus http://a --target kubernetes", "--prometheus: load pods push live metrics to the"),
        ("run quick --quiet --verbose", "--quiet and --verbose: they exclude each other"),
        ("run --rest 127.0.0.1:8080", "--rest '127.0.0.1:8080': not a request"),
        ("run --rest 'GET http://127.0.0.1:x/'", "Port could not be cast"),
        ("run --rest 'GET http://me:secret@127.0.0.1/'", "not a URL of a host alone"),
        ("run --rest 'GET http://127.0.0.1/' --duration 5x", "the duration '5x'"),
        ("run --rest 'GET http://127.0.0.1/' --target local", "the variant rest has no start"),
        ("run --grpc '127.0.0.1:50051 a.B/C [1]'", "not a call with a message in JSON"),
        ("run --socket 127.0.0.1:9000", "not an address and a line"),
        ("verify clients --socket 127.0.0.1:1", "--socket: clients has no such service"),
        ("results nothing", "no run 'nothing'"),
        ("load tcp", "'tcp'"),
        ("load rest --rate 0", "--rate 0: factors.rate_per_s: must be at least 1"),
        ("load rest --set factors.payload=5", "factors.payload: users.get has no payload 5"),
        ("load rest --concurrency 5,6", "a load is one window, and these options make 2"),
        ("load rest --operation users.create", "--operation users.create: factors.operation: no operation of a load"),
        ("load rest --driver ghz", "--driver ghz: factors.driver"),
        ("load rest --target local --context mine", "--context and --values are for clusters"),
        ("load rest --values /nowhere.yaml", "/nowhere.yaml: no such file"),
        ("calibrate --driver nothing", "'nothing' is not one of"),
        ("calibrate --driver ghz --transport rest", "no such driver speaks this transport"),
    ],
)
def test_wrong_usage_ends_with_status_2(
    command: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what is wrong, with no path that isn't the user's; nothing is started or written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wirebench.drivers.ghz.Ghz.read_version", lambda _: "1")
    said = reject(*shlex.split(command))
    assert expected in said
    assert "/tmp/" not in said.replace(str(tmp_path), "").replace(str(ROOT), "")  # noqa: S108 - what is looked for
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what the list of commands says, names values by words, and its examples are right."""
    monkeypatch.setenv("COLUMNS", "80")
    status, shown, _ = wirebench(name, "--help")
    lines = shown.splitlines()
    assert 0 == status
    assert COMMANDS[name].rstrip(".") in " ".join(shown.split())
    assert (True, True) == (len(lines) <= SCREEN_LINES, max(map(len, lines)) <= 80)
    assert [] == re.findall(r"<\w+|x[<>]=", shown)
    examples = re.findall(r"(?m)^  wirebench (.*)$", shown)
    assert (1 if name == "doctor" else 2) == len(examples)
    for example in examples:
        parse(shlex.split(example))


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command(option: str) -> None:
    """`--help` helps, and so does its short form."""
    status, shown, _ = wirebench(option)
    commands = re.findall(r"(?m)^  ([a-z]+)  +.*\.$", shown.partition("Measure:")[2])
    assert (0, list(COMMANDS)) == (status, commands)


def test_without_a_command_there_is_help() -> None:
    """It goes to stderr, with the status of wrong usage: nothing was done."""
    status, stdout, stderr = wirebench()
    assert (2, "") == (status, stdout)
    assert "verify" in stderr


def test_help_and_completion_load_no_command() -> None:
    """They load nothing that takes long."""
    program = "import sys; from wirebench.cli.app import make_app; make_app({!r}); print(*sys.modules)"
    for arguments in (["--help"], ["run", "--help"]):
        loaded = run_program([sys.executable, "-c", program.format(arguments)], check=True).stdout.split()
        assert not {"numpy", "pydantic", "rich"} & set(loaded)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wirebench re", {"report", "results", "resume"}),
        ("wirebench results 2026", {"20260101T000000Z-old"}),
        ("wirebench run qui", {"quick"}),
        ("wirebench run quick --transport rest,g", {"rest,grpc"}),
        ("wirebench run quick --operation echo.e", {"echo.echo"}),
        ("wirebench run quick --set factors.work", {"factors.workers="}),
    ],
)
def test_a_shell_completes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, expected: set[str]) -> None:
    """Commands, names of runs and of scenarios, levels and keys."""
    RunBuilder(cells=[cell("rest")], blocks=1, info={"id": "20260101T000000Z-old"}).write(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_WIREBENCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert expected == set(wirebench().stdout.split())


def test_completion_knows_all_keys_and_operations() -> None:
    """It finds them in texts, without the models, which take a tenth of a second to import."""
    models = {".".join(filter(None, (section, key))) for section, model in SECTIONS.items() for key in list_keys(model)}
    models -= {"factors", "load", *(f"load.objective.{key}" for key in list_keys(Objective))}
    assert {f"{key}=" for key in models} == set(complete_keys(""))
    assert list(load_builtin().operations) == list(list_operations())


def test_the_version_is_shown() -> None:
    """The option needs no command."""
    assert (0, f"wirebench {metadata.version('wirebench')}\n", "") == wirebench("--version")
