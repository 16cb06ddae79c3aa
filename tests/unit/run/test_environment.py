"""What a measurement was made on: the commit of the checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wirebench.run import environment


def test_a_changed_program_marks_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed document doesn't, so that runs that are written into one don't mark those after them."""
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "IS_WHEEL", False)
    assert environment.read_commit() is None, "a copy of the files has no commit"
    (tmp_path / "docs").mkdir()
    for name in ("program", "docs/page"):
        (tmp_path / name).write_text("as committed")
    identity = ["-c", "user.name=A", "-c", "user.email=a@localhost"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    commit = environment.read_commit()
    assert commit is not None
    assert 12 == len(commit)
    (tmp_path / "docs" / "page").write_text("changed")
    assert commit == environment.read_commit()
    (tmp_path / "program").write_text("changed")
    assert f"{commit}-dirty" == environment.read_commit()
