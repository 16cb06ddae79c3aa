"""The commands of `wirebench`, and that its help is there at once."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

import pytest
import typer

from tests.support.command_line import wirebench
from tests.support.waiting import run_program
from wirebench.cli.app import COMMANDS, make_app


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
