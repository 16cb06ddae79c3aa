"""`make help`: readable at the width of the terminal, however long names and texts are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT


def shown(columns: int, *files: Path) -> list[str]:
    """Return the lines of the help."""
    command = ["awk", "-v", f"columns={columns}", "-f", str(ROOT / "scripts/help.awk"), *map(str, files)]
    return run_program(command, check=True).stdout.splitlines()


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_no_line_is_longer_than_the_terminal_is_wide(columns: int) -> None:
    """In the help of the project itself, which names every target once."""
    lines = shown(columns, ROOT / "Makefile", *ROOT.glob("make/*.mk"))
    assert columns >= max(map(len, lines))
    assert 1 == sum(line.startswith("  bench ") for line in lines)
