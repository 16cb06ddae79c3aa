"""Commands and their help; wrong arguments: exit status 2, and what is wrong."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.command_line import reject, wirebench
from tests.support.waiting import run_program
from wirebench.cli.app import COMMANDS, make_app
from wirebench.system.paths import ROOT


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("nothing", "nothing"),
        ("run", "there is no scenario"),
        ("run nothing.yaml", "no scenario 'nothing.yaml'"),
        ("run quick --target moon", "no target 'moon'"),
        ("run quick --target external", "no address is given"),
        ("run quick --target external --rest nowhere", "'nowhere' is not an address"),
        ("run quick --target external --rest a:1 --rest b:1", "one address of each transport"),
        ("run quick --timing bursts.json", "quick.yaml has no replay"),
        ("run quick --blocks many", "--blocks"),
        ("run quick --status 200", "--status is for requests without a scenario"),
        ("run quick --prometheus localhost:9090", "not the URL of a Prometheus"),
        ("run quick --prometheus http://a --target kubernetes", "--prometheus: load pods push live metrics to the"),
        ("run quick --quiet --verbose", "--quiet and --verbose: they exclude each other"),
        ("run --rest 127.0.0.1:8080", "--rest '127.0.0.1:8080': not a request"),
        ("run --rest 'GET http://127.0.0.1:x/'", "Port could not be cast"),
        ("run --rest 'GET http://me:secret@127.0.0.1/'", "not a URL of a host alone"),
        ("run --rest 'GET http://127.0.0.1/items/{id}'", "{id} stands for an input"),
        ("run --rest 'GET http://127.0.0.1/' --duration 5x", "the duration '5x'"),
        ("run --rest 'GET http://127.0.0.1/' --target local", "the variant rest has no start"),
        ("run --rest 'GET http://127.0.0.1/' --concurrency many", "--concurrency many: factors.concurrency: must be a"),
        ("run --grpc '127.0.0.1:50051 a.B/C [1]'", "not a call with a message in JSON"),
        ("run --socket 127.0.0.1:9000", "not an address and a line"),
        ("verify http2 --socket 127.0.0.1:1", "--socket: http2 has no such service"),
        ("results nothing", "no run 'nothing'"),
        ("load tcp", "'tcp'"),
        ("load rest --rate 0", "--rate 0: factors.rate_per_s: must be at least 1"),
        ("load rest --payload 5", "--payload 5: factors.payload: users.get has no payload 5"),
        ("load rest --payload 5,6", "--payload 5,6: a load takes one value"),
        ("load rest --operation users.grab", "--operation users.grab: no operation of a load"),
        ("load rest --placement here", "'here' is not one of 'same-pod'"),
        ("load rest --driver ghz", "--driver ghz: factors.driver"),
        ("load rest --target local --context mine", "--context, --kubeconfig and --values are for clusters"),
        ("load rest --values /nowhere.yaml", "/nowhere.yaml: no such file"),
        ("calibrate --driver nothing", "no driver 'nothing'"),
        ("calibrate --transport nothing", "no transport 'nothing'"),
        ("calibrate --driver ghz --transport rest", "none of these drivers speaks"),
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


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command(option: str) -> None:
    """`--help` helps, and so does its short form."""
    status, shown, _ = wirebench(option)
    commands = re.findall(r"(?m)^  [a-z]+  +(.*)$", shown.partition("Measure:")[2])
    assert 0 == status
    assert [] == [name for name in COMMANDS if f" {name} " not in shown]
    assert [] == [line for line in commands if not line.endswith(".") or line.endswith("...")], "none is cut off"


def test_without_a_command_there_is_help() -> None:
    """It goes to stderr, with the status of wrong usage: nothing was done."""
    status, stdout, stderr = wirebench()
    assert (2, "") == (status, stdout)
    assert "verify" in stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_of_itself_what_the_list_says(name: str) -> None:
    """The list is written apart, so that it loads no command."""
    group: Any = typer.main.get_command(make_app([name]))
    assert group.commands[name].help.replace("\n", " ").startswith(COMMANDS[name])


def test_help_loads_no_command() -> None:
    """Help loads nothing that takes long."""
    program = "import sys; from wirebench.cli.app import make_app; make_app(['--help']); print(*sys.modules)"
    loaded = run_program([sys.executable, "-c", program], check=True).stdout.split()
    assert not {"numpy", "pydantic", "wirebench.cli.run"} & set(loaded)


def test_the_version_is_shown() -> None:
    """The option needs no command."""
    assert (0, f"wirebench {metadata.version('wirebench')}\n", "") == wirebench("--version")
