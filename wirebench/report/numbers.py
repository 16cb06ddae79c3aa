"""Figures as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

ABSENT = "–"

_DIGITS = 3


def number(value: float | None) -> str:
    """Write a figure with three digits that count, and thousands apart; a dash for one that is absent."""
    if value is None:
        return ABSENT
    if not value or not math.isfinite(value):
        return f"{value:g}"
    _, _, exponent = f"{value:.{_DIGITS - 1}e}".partition("e")  # after rounding: 9.996 has two digits before the point
    decimals = max(_DIGITS - 1 - int(exponent), 0)
    return f"{value:,.{decimals}f}"


def count(value: int | None) -> str:
    """Write a count, with thousands apart; a dash for one that is absent."""
    return ABSENT if value is None else f"{value:,}"


def moment(text: str) -> str:
    """Write a moment given in ISO 8601 to the minute, in UTC; what is no such moment stays as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def duration(seconds: float | None) -> str:
    """Write a duration in minutes and seconds."""
    if seconds is None:
        return ABSENT
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{number(seconds)} s"
