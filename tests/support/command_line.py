"""The command line in the process of a test, and what it prints."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
import typer

from wirebench import cli
from wirebench.cli.app import make_app
from wirebench.cli.console import make_console
from wirebench.cli.output import print_run
from wirebench.model.run_info import Run


def render_run(run: Run) -> str:
    """Return what is printed of a run where there is no terminal."""
    text = io.StringIO()
    print_run(run, make_console(text))
    return text.getvalue()


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def wirebench(*arguments: object) -> Ended:
    """Run a command."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as stdout,
        contextlib.redirect_stderr(io.StringIO()) as stderr,
        patch.object(sys, "argv", ["wirebench", *map(str, arguments)]),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    return Ended(int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue())


def reject(*arguments: object) -> str:
    """Check that a command is wrong usage and prints nothing but an error with a next step; return that."""
    status, stdout, stderr = wirebench(*arguments)
    assert (2, "") == (status, stdout)
    assert "\nnext: " in stderr
    return stderr


def parse(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the command and its parameters, as our own command line reads them; nothing is run."""
    command: Any = typer.main.get_command(make_app(arguments))
    context, name, words = None, "wirebench", list(arguments)
    while True:
        context = command.make_context(name, words, parent=context)
        words = [*getattr(context, "_protected_args", ()), *context.args]
        if not (words and hasattr(command, "resolve_command")):
            return name, context.params
        name, command, words = command.resolve_command(context, words)


class Terminal(io.StringIO):
    """What looks like a terminal."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True
