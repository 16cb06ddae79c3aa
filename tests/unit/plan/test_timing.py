"""Timing files: what is read, what is rejected and where, what they look like, and bursts made by a seed."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import wirebench
from wirebench.errors import UsageError
from wirebench.model.recording import ENTRIES_MAX, Recording, read_recording, to_json
from wirebench.plan.recordings import compute_burstiness, compute_peak_rate_per_s, draw_plot, generate_bursts

BURSTS = (200, 10, 0.5, 2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a timing file may be."""
    return tmp_path / "timing.json"


@pytest.mark.parametrize(
    "text",
    [
        "[10, 10.5, 10.500000001, 12]",
        '["1970-01-01T00:00:10Z", "1970-01-01T01:00:10.5+01:00", "10.500000001", "1970-01-01 00:00:12Z"]',
        '["10.000000000", "10.500000000", "1970-01-01t00:00:10.500000001z", "12.000000000"]',
        '{"inter_arrival_s": [0.5, 1e-9, 1.499999999]}',
        '{"about": "of a friend", "timestamps": [10, 10.5, 10.500000001, 12]}',
    ],
)
def test_timestamps_and_gaps_are_read_to_the_nanosecond(file: Path, text: str) -> None:
    """Seconds, RFC 3339, Hedera's consensus timestamps and gaps say the same; the first request is at 0."""
    file.write_text(text, encoding="utf-8")
    assert (0, 500_000_000, 500_000_001, 2_000_000_000) == read_recording(file).offsets_ns


def test_large_timestamps_keep_their_nanoseconds(file: Path) -> None:
    """A float has none left of the seconds since 1970."""
    file.write_text("[1767225600.000000001, 1767225600.000000003]", encoding="utf-8")
    assert (0, 2) == read_recording(file).offsets_ns


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("[1, 2", ":1:6: not JSON"),
        ("[1,\n 2,,]", ":2:4: not JSON"),
        ("3", "not a list"),
        ('{"inter_arrival_s": 3}', "not a list"),
        ("{}", "either timestamps or inter_arrival_s"),
        ('{"timestamps": [1, 2], "inter_arrival_s": [1]}', "either timestamps or inter_arrival_s"),
        ('{"timestamps": [1, 2], "unit": "ms"}', "either timestamps or inter_arrival_s"),
        ('{"timestamps": [1, 2], "timestamps": [1, 3]}', "a key appears twice"),
        ("[]", "0 entries have no timing"),
        ("[5]", "1 entry has no timing"),
        ('{"inter_arrival_s": []}', "0 entries have no timing"),
        ("[3, 3, 3]", "the same time"),
        ('{"inter_arrival_s": [0, 0]}', "the same time"),
        ("[1, 2, 1.5]", "entry 3: is earlier than the one before it"),
        ("[1, -2]", "entry 2: must not be negative"),
        ('{"inter_arrival_s": [1, -0.5]}', "entry 2: must not be negative"),
        ("[1, NaN]", "entry 2: must be a finite number"),
        ("[1, Infinity]", "entry 2: must be a finite number"),
        ("[1, 1767225600000]", "entry 2: is after the year 9999"),
        ("[1, 1e999999]", "entry 2: is after the year 9999"),
        ("[1, 2e9]", "over 1,000,000,000 s"),
        ("[1, true]", "entry 2: must be a number"),
        ("[1, null]", "entry 2: must be a number"),
        ("[1, [2.5]]", "entry 2: must be a number"),
        ('[1, "2"]', "entry 2: is of another kind than the first"),
        ('["10.000000000", 11]', "entry 2: is of another kind than the first"),
        ('["10.000000000", "soon"]', "entry 2: is neither RFC 3339"),
        ('["10.5", "11.5"]', "entry 1: is neither RFC 3339"),
        ('["2026-01-01T00:00:00", "2026-01-01T00:00:01"]', "entry 1: is neither RFC 3339"),
        ('["2026-01-01T00:00:00Z", "2026-02-30T00:00:01Z"]', "entry 2: isn't a time"),
        ('{"inter_arrival_s": ["1.000000000", "2.000000000"]}', "entry 1: is text"),
        (f"[1{'0' * 5000}]", "limit"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_no_timing_file_is_rejected_with_the_place(file: Path, text: str, problem: str) -> None:
    """One line: the file, the entry by its number or the line and column, and what is wrong with it."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_recording(file)
    assert caught.value.message.startswith(str(file))
    assert problem in caught.value.message
    assert "" != caught.value.hint


def test_files_that_cannot_be_read_or_are_too_large_are_rejected(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So are those that are no text."""
    with pytest.raises(UsageError, match="No such file"):
        read_recording(file)
    file.write_bytes(b"\xff\xfe[1]")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_recording(file)
    file.write_text(json.dumps([0] * (ENTRIES_MAX + 1)), encoding="utf-8")
    with pytest.raises(UsageError, match="1,000,001 entries are over 1,000,000"):
        read_recording(file)
    monkeypatch.setattr("wirebench.model.recording.FILE_BYTES_MAX", 1_000_000)
    with pytest.raises(UsageError, match="over 1 MB"):
        read_recording(file)


def test_a_file_that_is_written_is_read(file: Path) -> None:
    """With what it says of itself."""
    file.write_text(to_json('made "here"', "inter_arrival_s", ["0.25"] * 40), encoding="utf-8")
    assert tuple(range(0, 10_000_000_001, 250_000_000)) == read_recording(file).offsets_ns
    assert 'made "here"' == json.loads(file.read_text())["about"]
    assert max(map(len, file.read_text().splitlines())) <= 120


def test_a_length_holds_the_requests_at_their_mean_rate() -> None:
    """Three requests a second apart are one a second, and last three seconds."""
    recording = Recording((0, 1_000_000_000, 2_000_000_000))
    assert (2.0, 1.0, 3.0) == (recording.duration_s, recording.mean_rate_per_s, recording.length_s)


def test_the_shape_of_a_clock_and_of_a_burst() -> None:
    """A clock has burstiness 0; ninety-nine at once and one after a second have nearly 10."""
    clock = Recording(tuple(range(0, 5_000_000_001, 100_000_000)))
    assert (51, 5.0, 10.0) == (clock.count, clock.duration_s, clock.mean_rate_per_s)
    assert (10, 0.0) == (compute_peak_rate_per_s(clock), compute_burstiness(clock))
    burst = Recording((*[0] * 100, 1_000_000_000))
    assert 100 == compute_peak_rate_per_s(burst)
    assert 99**0.5 == pytest.approx(compute_burstiness(burst))


def test_a_plot_shows_where_requests_are() -> None:
    """A full bar for the fullest slice, the least bar for a slice of few, none where there is nothing."""
    lines = draw_plot(Recording((*[0] * 100, 2_000_000_000)), columns=4, rows=2).splitlines()
    assert ["200/s │█   ", "      │█  ▁"] == lines[:2]
    assert "2.0 s" in lines[-1]


def test_bursts_are_the_same_for_the_same_seed_and_differ_for_others() -> None:
    """A file can be made again from the command that it holds."""
    assert (
        generate_bursts(*BURSTS, duration_s=5, seed=1)
        == generate_bursts(*BURSTS, duration_s=5, seed=1)
        != generate_bursts(*BURSTS, duration_s=5, seed=2)
    )


def test_bursts_have_the_rate_and_the_states_that_were_asked_for() -> None:
    """Over many states the mean rate is near; gaps vary more than a Poisson process's, whose burstiness is 1."""
    made = generate_bursts(*BURSTS, duration_s=2000, seed=3)
    assert made is not None
    assert 200 == pytest.approx(made.mean_rate_per_s, rel=0.1)
    assert 1.5 < compute_burstiness(made) < 2.5
    poisson = generate_bursts(200, 1, 0.5, 2, duration_s=500, seed=3)
    assert poisson is not None
    assert 1 == pytest.approx(compute_burstiness(poisson), rel=0.05)


def test_bursts_are_in_order_and_within_their_time() -> None:
    """Whatever the states do."""
    made = generate_bursts(*BURSTS, duration_s=3, seed=4)
    assert made is not None
    assert all(before <= after for before, after in pairwise(made.offsets_ns))
    assert np.array(made.offsets_ns).max() < 3e9


def test_a_time_too_short_for_two_requests_gives_none() -> None:
    """A recording takes two."""
    assert generate_bursts(0.01, 1, 1, 1, duration_s=0.1, seed=1) is None


def test_no_file_is_written_that_is_too_long_to_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A long burst may bring more than was expected."""
    too_many = Recording(tuple(range(ENTRIES_MAX + 1)))
    monkeypatch.setattr("wirebench.cli.timing.generate_bursts", lambda *_, **__: too_many)
    status, _, said = wirebench("timing", "generate", "--out", tmp_path / "bursts.json")
    assert (2, False) == (status, (tmp_path / "bursts.json").exists())
    assert "1,000,001 requests" in said
