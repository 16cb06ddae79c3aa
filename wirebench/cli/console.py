"""What all commands write to the terminal: errors, JSON, and text that never steers it."""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

from pydantic_core import to_json
from rich.console import Console
from rich.text import Text

from wirebench.errors import WirebenchError
from wirebench.system.paths import IS_WHEEL, ROOT

#: As wide as a table may get where there is no terminal to set a limit.
_PLAIN_WIDTH = 10_000
#: Of a line of an error.
_LINE_CHARACTERS_MAX = 1_000


def print_error(error: WirebenchError) -> None:
    """Write an error to stderr: what is wrong, a tool's last lines if there are any, and what to do next."""
    lines = [f"error: {error.message}", *(f"  | {line}" for line in error.details.splitlines())]
    if error.hint:
        lines.append(f"next: {fit_installation(error.hint)}")
    # The log of a service may have lines of any length.
    shown = (line if len(line) <= _LINE_CHARACTERS_MAX else f"{line[:_LINE_CHARACTERS_MAX]} …" for line in lines)
    sys.stderr.write("".join(f"{escape_controls(line)}\n" for line in shown))


def fit_installation(text: str) -> str:
    """Return a next step as it is for this installation: a wheel has the pages elsewhere, and no make targets."""
    if not IS_WHEEL:
        return text
    text = re.sub(r"\bdocs/(?=[\w-]+\.md)", lambda found: f"{ROOT}/{found[0]}", text)
    return re.sub(r"`make [^`]+`", r"\g<0> in a checkout of wirebench", text)


def make_console(file: TextIO | None = None) -> Console:
    """Return what to print results on (by default stdout): as wide as the terminal; without one, nothing is cut.

    All text is shown as it is: none of it is markup, and none steers the terminal.
    """
    width = None if (file or sys.stdout).isatty() else _PLAIN_WIDTH
    return _PlainConsole(file=file, width=width, markup=False, highlight=False)


class _PlainConsole(Console):
    """Shows control characters as what they are: questions, versions and reasons may come from elsewhere."""

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's, handed on
        return super().render_str(escape_controls(text), **options)


def print_json(data: object) -> None:
    sys.stdout.write(to_json(data, indent=2, by_alias=False, inf_nan_mode="null").decode() + "\n")


def escape_controls(text: str) -> str:
    """Return lines with control characters escaped: what others have stored must not steer our terminal."""
    shown = (each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in text)
    return "".join(shown)
