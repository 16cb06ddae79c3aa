"""Figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wirebench.analysis.ratio import Ratio
    from wirebench.model.metric import Metric

ABSENT = "–"

_DIGITS = 3


def format_number(value: float | None) -> str:
    """Write a figure with three digits that count, and thousands apart; a dash for one that is absent."""
    if value is None:
        return ABSENT
    if not value or not math.isfinite(value):
        return f"{value:g}"
    _, _, exponent = f"{value:.{_DIGITS - 1}e}".partition("e")  # after rounding: 9.996 has two digits before the point
    decimals = max(_DIGITS - 1 - int(exponent), 0)
    return f"{value:,.{decimals}f}"


def format_ends(low: float | None, high: float | None, write: Callable[[float], str] = format_number) -> str:
    """Write the ends of an interval: `1.83–1.88`, or `1.83 or more`; a dash without one."""
    if low is None or high is None or not math.isfinite(low):
        return ABSENT
    return f"{write(low)}–{write(high)}" if math.isfinite(high) else f"{write(low)} or more"


def format_range(figure: Ratio | None) -> str:
    """Write the ends of a figure: of its interval, or of its blocks; a dash without any."""
    return format_ends(figure.low, figure.high) if figure else ABSENT


def format_ci(low: float | None, high: float | None, write: Callable[[float], str] = format_number) -> str:
    """Write an interval to follow its figure, with a space before it: ` (95 % CI 1.83–1.88)`; nothing without one."""
    return "" if low is None or high is None else f" (95 % CI {format_ends(low, high, write)})"


def format_metric(metric: Metric, value: float | None) -> str:
    """Write a metric's value: a count in full, any other with three digits that count."""
    if value is None or metric.over_blocks != "sum":
        return format_number(value)
    return f"{int(value):,}"


def describe_errors(counts: Mapping[str, int]) -> str:
    """Write the number of failed requests by class: `3 unavailable, 1 timeout`; a dash without any."""
    return ", ".join(f"{failed:,} {name}" for name, failed in counts.items()) or ABSENT


def format_moment(text: str) -> str:
    """Write a moment given in ISO 8601 to the minute, in UTC; what is no such moment stays as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{format_number(seconds)} s"


def format_minutes(seconds: float) -> str:
    """Write a time in minutes and seconds: `1:05`."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
