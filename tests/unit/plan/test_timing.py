"""Timing files: what is read, and what is rejected and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.recording import ENTRIES_MAX, read_recording


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a timing file may be."""
    return tmp_path / "timing.json"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[10, 10.5, 10.500000001, 12]", (0, 500_000_000, 500_000_001, 2_000_000_000)),
        ("[1767225600.000000001, 1767225600.000000003]", (0, 2)),
    ],
)
def test_times_are_read_to_the_nanosecond(file: Path, text: str, expected: tuple[int, ...]) -> None:
    """A time since 1970 keeps its nanoseconds too, and the first request is at 0."""
    file.write_text(text, encoding="utf-8")
    assert expected == read_recording(file).offsets_ns


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1,\n 2,,]", "not JSON: .*line 2 column 4"),
        ("[5]", "not a list of 2 to 1,000,000 times"),
        (json.dumps([0] * (ENTRIES_MAX + 1)), "not a list of 2 to 1,000,000 times"),
        ("[1, 2, 1.5]", "entry 3: is earlier than the one before it"),
        ("[1, NaN]", "entry 2: must be a time in seconds"),
        (f"[1{'0' * 5000}]", "limit"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_timing_file_is_rejected_with_the_place(file: Path, text: str, problem: str) -> None:
    """One line names the file, the entry or the line and column, and what is wrong with it."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem) as caught:
        read_recording(file)
    assert caught.value.message.startswith(str(file))
    assert "" != caught.value.hint


def test_files_that_cannot_be_read_are_rejected(file: Path) -> None:
    """A file that is no text is rejected too."""
    with pytest.raises(UsageError, match="No such file"):
        read_recording(file)
    file.write_bytes(b"\xff\xfe[1]")
    with pytest.raises(UsageError, match="not JSON"):
        read_recording(file)
