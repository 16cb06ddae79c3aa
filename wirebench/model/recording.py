"""Timing files: a JSON list of the times at which recorded requests arrived, in seconds."""

from __future__ import annotations

import bisect
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.system.files import read_limited

ENTRIES_MIN, ENTRIES_MAX = 2, 1_000_000
FILE_BYTES_MAX = 64_000_000
#: The last second of the year 9999.
_LATEST_S = 253_402_300_799
_NS = 1_000_000_000
_HINT = "a timing file is a JSON list of times in seconds, in order: docs/scenarios.md"


@dataclass(frozen=True, slots=True)
class Recording:
    """When requests arrived: nanoseconds from the first, which is at 0, in order.

    As read from a file there are two or more, and not all at once.
    """

    offsets_ns: tuple[int, ...]
    #: The timing file that it was read from.
    path: Path | None = None

    @property
    def count(self) -> int:
        return len(self.offsets_ns)

    @property
    def length_s(self) -> float:
        """How long it takes to replay, in seconds: to one mean gap after the last request."""
        return self.offsets_ns[-1] / _NS * self.count / (self.count - 1)

    def cut(self, duration_s: float) -> Recording:
        """Return what arrived in the first so many seconds, which is one request at least."""
        end = bisect.bisect_left(self.offsets_ns, round(duration_s * _NS))
        return Recording(self.offsets_ns[: max(1, end)], self.path)


def read_recording(path: Path) -> Recording:
    """Read a timing file. Raises UsageError, with the place and the fix."""
    hint = "correct the path; in a scenario it is relative to that file, on the command line to where you are"
    text = read_limited(path, FILE_BYTES_MAX, hint, "take a part of the recording")
    try:
        # Decimals keep the nanoseconds of the seconds since 1970, and a float does not.
        data = json.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}", _HINT) from None
    if not isinstance(data, list) or not ENTRIES_MIN <= len(data) <= ENTRIES_MAX:
        raise UsageError(f"{path}: not a list of {ENTRIES_MIN} to {ENTRIES_MAX:,} times", _HINT)
    times_ns: list[int] = []
    for place, time in enumerate(data, start=1):
        # JSON's reader takes NaN and Infinity as floats, and nothing else.
        if not isinstance(time, int | Decimal) or isinstance(time, bool) or not 0 <= time <= _LATEST_S:
            raise UsageError(f"{path}: entry {place}: must be a time in seconds (it is {str(time)[:40]})", _HINT)
        times_ns.append(round(time * _NS))
        if times_ns[-1] < max(times_ns[-2:]):
            raise UsageError(f"{path}: entry {place}: is earlier than the one before it", "sort the list by time")
    if times_ns[-1] == times_ns[0]:
        raise UsageError(f"{path}: all entries have the same time", "record for longer")
    return Recording(tuple(each - times_ns[0] for each in times_ns), path)
