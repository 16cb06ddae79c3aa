"""The requests that wireload's tests compare with its own are those of the Python model."""

from __future__ import annotations

from tests.support.requests_golden import GOLDEN, dump_golden


def test_the_golden_requests_are_current() -> None:
    """`python -m tests.support.requests_golden` writes them again."""
    assert dump_golden() == GOLDEN.read_text(encoding="utf-8")
