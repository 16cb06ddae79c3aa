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
#: Ratios beyond this are noise, or so clear that more digits say nothing.
_RATIO_MAX = 1000


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


def format_multiple(ratio: float) -> str:
    """Write a ratio: `1.58×`."""
    return f"{_format_ratio_number(ratio)}×"


def format_interval(ratio: Ratio) -> str:
    """Write a ratio and its interval among words: `1.58× (95 % CI 1.46–1.71)`."""
    return _write_interval(ratio, " (95 % CI {})")


def format_short_interval(ratio: Ratio | None) -> str:
    """Write a ratio and its interval in a table: `1.58× 1.46–1.71`; a dash for none."""
    return _write_interval(ratio, " {}") if ratio else ABSENT


def _write_interval(ratio: Ratio, form: str) -> str:
    ends = format_ends(ratio.low, ratio.high, _format_ratio_number)
    return f"{format_multiple(ratio.estimate)}{'' if ends == ABSENT else form.format(ends)}"


def _format_ratio_number(value: float) -> str:
    """Write a ratio with two or three digits that count; beyond a thousand either way, only that it is beyond."""
    if value > _RATIO_MAX:
        return f">{_RATIO_MAX}"
    if value < 1 / _RATIO_MAX:
        return f"<{1 / _RATIO_MAX}"
    least_of_decimals = {0: 99.95, 1: 9.995, 2: 0.0995, 3: 0.0}  # where rounding adds a digit
    decimals = next(decimals for decimals, least in least_of_decimals.items() if value >= least)
    return f"{value:.{decimals}f}"


def format_metric(metric: Metric, value: float | None) -> str:
    """Write a metric's value: a count in full, any other with three digits that count."""
    if value is None or metric.over_blocks != "sum":
        return format_number(value)
    return f"{int(value):,}"


def format_amount(value: float, unit: str) -> str:
    """Write the value or limit of a gate: a share of something as a percentage."""
    if unit.startswith(("of ", "from ")):
        value, unit = 100 * value, f"% {unit}"
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"  # noqa: PLR2004 - no more digits count


def describe_errors(counts: Mapping[str, int]) -> str:
    """Write the number of failed requests by class: `3 unavailable, 1 timeout`; a dash without any."""
    return ", ".join(f"{failed:,} {name}" for name, failed in counts.items()) or ABSENT


def format_moment(moment: datetime) -> str:
    """Write a moment to the minute, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{format_number(seconds)} s"


def format_minutes(seconds: float) -> str:
    """Write a time in minutes and seconds: `1:05`."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
