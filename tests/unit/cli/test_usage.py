"""Commands and their help; wrong arguments: exit status 2, and what is wrong."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.command_line import reject, wirebench
from tests.support.waiting import run_program
from wirebench.cli.app import COMMANDS, make_app


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "nothing.yaml"], "no scenario 'nothing.yaml'"),
        (["run", "quick", "--target", "moon"], "no target 'moon'"),
        (["run", "quick", "--target", "external"], "no address is given"),
        (["run", "quick", "--target", "external", "--rest", "nowhere"], "'nowhere' is not an address"),
        (["run", "quick", "--timing", "bursts.json"], "quick.yaml has no replay"),
        (["run", "quick", "--blocks", "many"], "--blocks"),
        (["run"], "there is no scenario"),
        (["verify", "http2", "--socket", "127.0.0.1:1"], "--socket: http2 has no such service"),
        (["results", "nothing"], "no run 'nothing'"),
        (["nothing"], "nothing"),
    ],
)
def test_wrong_usage_ends_with_status_2(
    arguments: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong words are named in one line, and nothing is started or written."""
    monkeypatch.chdir(tmp_path)
    assert expected in reject(*arguments)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command(option: str) -> None:
    """`--help` helps, and so does its short form."""
    status, shown, _ = wirebench(option)
    assert 0 == status
    assert [] == [name for name in COMMANDS if f" {name} " not in shown]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_of_itself_what_the_list_says(name: str) -> None:
    """The list is written apart, so that it loads no command."""
    group: Any = typer.main.get_command(make_app([name]))
    assert group.commands[name].help.replace("\n", " ").startswith(COMMANDS[name])


def test_help_loads_no_command() -> None:
    """Nor what takes long to load."""
    program = "import sys; from wirebench.cli.app import make_app; make_app(['--help']); print(*sys.modules)"
    loaded = run_program([sys.executable, "-c", program], check=True).stdout.split()
    assert not {"numpy", "pydantic", "wirebench.cli.run"} & set(loaded)


def test_the_version_is_shown() -> None:
    """Without a command."""
    assert (0, f"wirebench {metadata.version('wirebench')}\n", "") == wirebench("--version")
