"""Timing files: a JSON list of recorded timestamps, or gaps between them, read strictly."""

from __future__ import annotations

import bisect
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError
from wirebench.system.files import read_limited

ENTRIES_MAX = 1_000_000
FILE_BYTES_MAX = 64_000_000
#: The last second of the year 9999, the last in RFC 3339.
_LATEST_S = 253_402_300_799
_DURATION_S_MAX = 1_000_000_000
_NS = 1_000_000_000
_LINE_CHARACTERS = 120

#: https://www.rfc-editor.org/rfc/rfc3339#section-5.6, to the nanosecond.
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
#: A consensus timestamp: seconds since 1970 and nine digits of nanoseconds.
_HEDERA = re.compile(r"\d{1,12}\.\d{9}", re.ASCII)
_HINT = 'a timing file is a JSON list of timestamps, or {"inter_arrival_s": [...]}: docs/scenarios.md'


@dataclass(frozen=True, slots=True)
class Recording:
    """When requests arrived: nanoseconds from the first, which is at 0, in order.

    As read from a file there are two or more, and not all at once.
    """

    offsets_ns: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.offsets_ns)

    @property
    def duration_s(self) -> float:
        """From the first request to the last, in seconds."""
        return self.offsets_ns[-1] / _NS

    @property
    def mean_rate_per_s(self) -> float:
        """Requests a second: one a mean gap."""
        return (self.count - 1) / self.duration_s

    @property
    def length_s(self) -> float:
        """How long it takes to replay, in seconds: to one mean gap after the last request.

        So that the requests over the length are the mean rate, and the last one has its time.
        """
        return self.count / self.mean_rate_per_s

    def cut(self, duration_s: float) -> Recording:
        """Return what arrived in the first so many seconds, which is one request at least."""
        end = bisect.bisect_left(self.offsets_ns, round(duration_s * _NS))
        return Recording(self.offsets_ns[: max(1, end)])


def read_recording(path: Path) -> Recording:
    """Read a timing file. Raises UsageError, with the place and the fix."""
    data = _parse(path, _read(path))
    if isinstance(data, dict) and "inter_arrival_s" in data:
        gaps = _check_entries(path, data["inter_arrival_s"], _parse_gap_ns, least=1)
        offsets_ns = tuple(itertools.accumulate(gaps, initial=0))
    else:
        times = _check_entries(path, data["timestamps"] if isinstance(data, dict) else data, _parse_time_ns, least=2)
        for place, (before, time) in enumerate(itertools.pairwise(times), start=2):
            if time < before:
                raise _make_error(path, place, "is earlier than the one before it", "sort the list by time")
        offsets_ns = tuple(time - times[0] for time in times)
    if offsets_ns[-1] == 0:
        raise UsageError(f"{path}: all entries have the same time", "record for longer")
    if offsets_ns[-1] > _DURATION_S_MAX * _NS:
        raise UsageError(f"{path}: over {_DURATION_S_MAX:,} s from first to last", "take a part of the recording")
    return Recording(offsets_ns)


def to_json(about: str, key: str, entries: Sequence[str]) -> str:
    """Return the text of a timing file: where it comes from, and its entries, as JSON, under this key."""
    lines = textwrap.wrap(", ".join(entries), _LINE_CHARACTERS - 2, break_long_words=False, break_on_hyphens=False)
    listed = "\n  ".join(lines)
    return f'{{"about": {json.dumps(about)},\n "{key}": [\n  {listed}\n ]}}'


def _read(path: Path) -> str:
    try:
        hint = "correct the path; in a scenario it is relative to that file, on the command line to where you are"
        text = read_limited(path, FILE_BYTES_MAX, hint, "take a part of the recording").decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text", _HINT) from None
    if not text.strip():
        raise UsageError(f"{path}: the file is empty", _HINT)
    return text


def _parse(path: Path, text: str) -> Any:  # noqa: ANN401 - checked next
    """Return the JSON; numbers exactly as they are written."""
    try:
        data = json.loads(text, parse_float=Decimal, object_pairs_hook=_reject_duplicates)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}", _HINT) from None
    except (ValueError, ArithmeticError) as error:  # a number of thousands of digits, a key that stands twice
        raise UsageError(f"{path}: {error}", _HINT) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", _HINT) from None
    if isinstance(data, dict):
        lists = data.keys() & {"timestamps", "inter_arrival_s"}
        if len(lists) != 1 or data.keys() - lists - {"about"}:
            raise UsageError(f"{path}: an object has either timestamps or inter_arrival_s, and may have about", _HINT)
    return data


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice")
    return made


def _check_entries(path: Path, data: object, to_ns: Callable[[object], int], least: int) -> tuple[int, ...]:
    """Return the entries of a list in nanoseconds. Raises UsageError that names the first wrong one by its number."""
    if not isinstance(data, list):
        raise UsageError(f"{path}: not a list", _HINT)
    if len(data) < least:
        found = "1 entry has" if len(data) == 1 else f"{len(data)} entries have"
        raise UsageError(f"{path}: {found} no timing", f"record {least} or more")
    if len(data) > ENTRIES_MAX:
        raise UsageError(f"{path}: {len(data):,} entries are over {ENTRIES_MAX:,}", "take a part of the recording")
    if kinds := {type(each) is str for each in data} - {isinstance(data[0], str)}:
        place = next(place for place, each in enumerate(data, start=1) if (type(each) is str) in kinds)
        raise _make_error(path, place, "is of another kind than the first", "write all as numbers, or all as texts")
    entries = []
    for place, each in enumerate(data, start=1):
        try:
            entries.append(to_ns(each))
        except ValueError as error:
            raise _make_error(path, place, str(error), _HINT) from None
    return tuple(entries)


def _parse_time_ns(entry: object) -> int:
    """Return a timestamp in nanoseconds. Raises ValueError."""
    if not isinstance(entry, str):
        return _parse_number_ns(entry)
    if _HEDERA.fullmatch(entry):
        return _parse_number_ns(Decimal(entry))
    if found := _RFC_3339.fullmatch(entry):
        day, clock, fraction, zone = found.groups()
        try:
            whole = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}")
        except ValueError as error:
            raise ValueError(f"isn't a time: {error}") from None
        return round(whole.timestamp()) * _NS + int((fraction or "0").ljust(9, "0"))
    raise ValueError(
        f"is neither RFC 3339 (2026-01-01T00:00:00.5Z) nor seconds.nanoseconds (1767225600.500000000): {entry[:40]!r}"
    )


def _parse_gap_ns(entry: object) -> int:
    if isinstance(entry, str):
        raise ValueError("is text; a gap is a number of seconds")  # noqa: TRY004 - named with its place, like all others
    return _parse_number_ns(entry)


def _parse_number_ns(entry: object) -> int:
    if isinstance(entry, float):  # as which JSON's reader takes NaN and Infinity, and nothing else
        raise ValueError(f"must be a finite number (it is {entry})")  # noqa: TRY004
    if not isinstance(entry, int | Decimal) or isinstance(entry, bool):
        raise ValueError("must be a number of seconds, or text")  # noqa: TRY004
    if entry < 0:
        raise ValueError(f"must not be negative (it is {entry})")
    if entry > _LATEST_S:
        raise ValueError("is after the year 9999: numbers are seconds, not milliseconds")
    return round(entry * _NS)


def _make_error(path: Path, place: int, problem: str, hint: str) -> UsageError:
    return UsageError(f"{path}: entry {place}: {problem}", hint)
