"""`wirebench completion`: a script with which a shell completes commands, options, scenarios and runs."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from wirebench.cli.app import COMPLETE_VARIABLE


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell.")]) -> None:
    """Print a script that makes a shell complete commands.

    bash and zsh: add `eval "$(wirebench completion bash)"` (or zsh) to ~/.bashrc or ~/.zshrc.
    fish: wirebench completion fish > ~/.config/fish/completions/wirebench.fish
    """
    script = get_completion_script(prog_name="wirebench", complete_var=COMPLETE_VARIABLE, shell=shell)
    sys.stdout.write(f"{script}\n")
