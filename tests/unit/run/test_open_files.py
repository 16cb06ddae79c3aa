"""Users need open files: the limit is raised, and more users than it allows are rejected."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tests.support.command_line import reject
from wirebench.run import preparation
from wirebench.run.preparation import raise_open_files


def test_open_files_are_raised_to_what_is_allowed() -> None:
    """The limit holds for all programs that are started from then on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert (raise_open_files(), before[1]) == resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("  concurrency: [1, 2000]\n", "4: factors.concurrency: 2,000 users take 2,000 open files"),
        (
            "  delay_ms: 5\n  concurrency: 1500\n",
            "5: factors.concurrency: 1,500 users take 3,000 open",
        ),
        ("  rate_per_s: 10\nload: {model: open, concurrency_max: 2000}\n", "5: load.concurrency_max: 2,000 users take"),
    ],
)
def test_users_that_do_not_fit_are_rejected_with_how_many_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, expected: str
) -> None:
    """The message has the scenario's line, and nothing is started or written."""
    monkeypatch.setattr(preparation, "raise_open_files", lambda: 1024)
    path = tmp_path / "many.yaml"
    path.write_text(f"question: Do they fit?\nfactors:\n  transport: rest\n{rest}", encoding="utf-8")
    errors = reject("run", path, "--out", tmp_path / "results")
    assert f"error: {path}:{expected}" in errors
    assert f"and a process may have 1,024 (ulimit -Hn): {412 if 'delay_ms' in rest else 824} fit" in errors
    assert not (tmp_path / "results").exists()
