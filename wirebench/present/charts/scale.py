"""Scales: where a figure lies between two ends, and the round numbers in between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Figures that lie further apart than this, as a ratio, don't fit on a linear scale.
LINEAR_SPREAD_MAX = 20

#: The least that a logarithmic scale holds, as a ratio: figures that are nearly the same look it.
_RATIO_MIN = 4.0
#: Less is nothing, and has too few digits to be placed by.
_LEAST = 1e-9
_DIGITS = ((1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,))
_STEPS = (1, 2, 2.5, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Scale:
    """Equal differences are equal distances, or if it `is_log`, equal ratios."""

    low: float
    high: float
    is_log: bool = False

    @classmethod
    def of(cls, values: Iterable[float]) -> Scale:
        """Return the scale from 0 on that holds these, or a logarithmic one if they lie too far apart for that."""
        positive = _positive(values)
        if positive and max(positive) / min(positive) > LINEAR_SPREAD_MAX:
            return cls.logarithmic(positive)
        return cls.linear(positive)

    @classmethod
    def linear(cls, values: Iterable[float]) -> Scale:
        """Return the scale from 0 on that holds these."""
        return cls(0.0, 1.06 * max(_positive(values), default=1 / 1.06))

    @classmethod
    def logarithmic(cls, values: Iterable[float]) -> Scale:
        """Return the logarithmic scale that holds those that are positive."""
        positive = _positive(values) or [1.0]
        low, high = min(positive) / 1.25, max(positive) * 1.25
        widen = math.sqrt(max(_RATIO_MIN / (high / low), 1))
        return cls(low / widen, high * widen, is_log=True)

    def at(self, value: float) -> float:
        """Return which share of the way from the low to the high end a value lies; what lies beyond is at the end."""
        if self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def ticks(self, most: int = 7) -> dict[float, str]:
        """Return round numbers within the scale, so many at most, as they are written."""
        numbers = self._log_numbers(most) if self.is_log else self._linear_numbers(most)
        return {number: f"{number:,.6g}" for number in numbers}

    def _log_numbers(self, most: int) -> Sequence[float]:
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in _DIGITS:
            numbers = [digit * 10.0**exponent for exponent in exponents for digit in digits]
            if len(within := [number for number in numbers if self.low <= number <= self.high]) <= most:
                return within
        step = -(-len(exponents) // most)
        return [10.0**exponent for exponent in exponents[1:-1] if exponent % step == 0]

    def _linear_numbers(self, most: int) -> Sequence[float]:
        reach = self.high - self.low
        decade = 10.0 ** math.floor(math.log10(reach / most))
        step = next(step * decade for step in _STEPS if step * decade * (most - 1) >= reach)
        return [index * step for index in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def _positive(values: Iterable[float]) -> list[float]:
    return [value for value in values if value > _LEAST]
