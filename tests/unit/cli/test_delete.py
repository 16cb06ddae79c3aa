"""`wirebench delete`: what is named goes, after a yes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import RunBuilder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write three runs."""
    for number in (1, 2, 3):
        RunBuilder(blocks=1, info={"id": f"2026010{number}-120000-quick"}).write(tmp_path)
    return tmp_path


def test_runs_that_are_named_are_deleted(runs: Path) -> None:
    """A run is named by its name, by how that begins, or as the last one."""
    ended = wirebench("delete", "20260102", "last", "--yes", "--out", runs)
    assert ended.status == 0, ended.stderr
    assert [path.name for path in runs.iterdir()] == ["20260101-120000-quick"]


@pytest.mark.parametrize(
    ("arguments", "message"), [(("20260102",), "nothing was deleted"), (("nothing", "--yes"), "no run 'nothing'")]
)
def test_without_a_yes_or_a_run_nothing_is_deleted(runs: Path, arguments: tuple[str, ...], message: str) -> None:
    """The error says what to do."""
    assert message in reject("delete", *arguments, "--out", runs)
    assert len(list(runs.iterdir())) == 3
