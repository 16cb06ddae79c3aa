"""Figures as people read them."""

from __future__ import annotations

import math

ABSENT = "–"

_DIGITS = 3


def number(value: float | None) -> str:
    """Write a figure with three digits that count, and thousands apart; a dash for one that is absent."""
    if value is None:
        return ABSENT
    if not value or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(_DIGITS - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{decimals}f}"


def count(value: int | None) -> str:
    """Write a count, with thousands apart; a dash for one that is absent."""
    return ABSENT if value is None else f"{value:,}"


def duration(seconds: float | None) -> str:
    """Write a duration in minutes and seconds."""
    if seconds is None:
        return ABSENT
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{number(seconds)} s"
