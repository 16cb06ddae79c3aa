"""Durations as options have them: `30s`, `1m30s`, `5m`."""

from __future__ import annotations

import math
import re

from wirebench.errors import UsageError

DURATION_S_MIN = 1.0
#: ghz sends a load in parts of 20 s, and each takes a moment to start: half an hour is what the Job's deadline allows.
DURATION_S_MAX = 1800.0
_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")


def parse_duration_s(text: str, most_s: float = DURATION_S_MAX) -> float:
    """Return how long `30s`, `1m30s`, `5m` or plain seconds are, in seconds. Raises UsageError."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1] or 0) * 60 + float(found[2] or 0) if found else math.nan
    if not DURATION_S_MIN <= seconds <= most_s:
        raise UsageError(
            f"the duration {text!r} is no time from {DURATION_S_MIN:.0f} s to {most_s / 60:.0f} min",
            "write it like 30s, 1m30s or 5m",
        )
    return seconds
