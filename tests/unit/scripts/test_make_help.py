"""`make help`: readable at the width of the terminal, however long names and texts are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

MAKEFILE = """\
##@ One
SHORT ?= ## what it is
QUITE_A_LONG_NAME ?= 8 ## words that never seem to stop, up to the end of the line and beyond it, wherever that is
a-target: SHORT ## what it makes
not-shown:
"""


def shown(columns: int, *files: Path) -> list[str]:
    """Return the lines of the help."""
    command = ["awk", "-v", f"columns={columns}", "-f", str(ROOT / "scripts/help.awk"), *map(str, files)]
    return run_program(command, check=True).stdout.splitlines()


def test_texts_stand_below_each_other(tmp_path: Path) -> None:
    """Beside the longest name, and what doesn't fit continues below itself."""
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    assert [
        "One",
        "  SHORT              what it is",
        "  QUITE_A_LONG_NAME  words that never seem to stop, up to",
        "                     the end of the line and beyond it,",
        "                     wherever that is [8]",
        "  a-target           what it makes",
    ] == shown(60, tmp_path / "Makefile")


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_no_line_is_longer_than_the_terminal_is_wide(columns: int) -> None:
    """In the help of the project itself, which names every target once."""
    lines = shown(columns, ROOT / "Makefile", *ROOT.glob("make/*.mk"))
    assert columns >= max(map(len, lines))
    assert 1 == sum(line.startswith("  bench ") for line in lines)
