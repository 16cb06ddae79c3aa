"""Histograms of latencies in nanoseconds: HdrHistogram's encoding outside, numpy inside.

Layout and indexing are HdrHistogram's (https://hdrhistogram.github.io/HdrHistogram/): 3 significant digits, values
1 ns to 60 s. Equal layouts merge exactly, by adding counts; no percentile is ever averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

VALUE_MIN_NS = 1
VALUE_MAX_NS = 60_000_000_000
SIGNIFICANT_DIGITS = 3

# Sub-buckets are halves of 2,048, which 3 significant digits take; 2,048 << 25 is the first limit over 60 s.
_HALF = 1024
_SIZE = 27 * _HALF
_INDEX = np.arange(_SIZE, dtype=np.int64)
_BUCKET = np.maximum(_INDEX // _HALF - 1, 0)
#: The lowest value of each index, how many values share it, and the middle of these.
_LOWEST = np.where(_INDEX < _HALF, _INDEX, _INDEX % _HALF + _HALF) << _BUCKET
_WIDTH = np.int64(1) << _BUCKET
_MIDDLE: NDArray[np.float64] = _LOWEST + (_WIDTH - 1) / 2


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of latencies; `counts` has shape (27,648,) and is not changed after it is made."""

    counts: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Histogram:
        return cls(np.zeros(_SIZE, dtype=np.int64))

    @classmethod
    def of_values(cls, values_ns: NDArray[np.int64]) -> Histogram:
        """Count values, in nanoseconds, of any shape; values beyond the limits count as the limits."""
        values = np.clip(values_ns.ravel(), VALUE_MIN_NS, VALUE_MAX_NS)
        indexes = np.searchsorted(_LOWEST, values, side="right") - 1
        return cls(np.bincount(indexes, minlength=_SIZE).astype(np.int64))

    @classmethod
    def decode(cls, text: str) -> Histogram:
        """Read HdrHistogram's V2 compressed base64 form. Raises ValueError if it is not one of this layout."""
        try:
            counts = np.asarray(HdrHistogram.decode(text).counts, dtype=np.int64)
        except Exception as error:  # noqa: BLE001 - the library raises its own types, zlib's and struct's
            raise ValueError(f"not an HdrHistogram: {error}") from None
        if len(counts) != _SIZE:
            raise ValueError(f"an HdrHistogram of another layout: {len(counts)} counts, not {_SIZE}")
        return cls(counts)

    def encode(self) -> str:
        """Return HdrHistogram's V2 compressed base64 form."""
        histogram: Any = HdrHistogram(VALUE_MIN_NS, VALUE_MAX_NS, SIGNIFICANT_DIGITS)
        for index in np.flatnonzero(self.counts):
            histogram.record_value(int(_LOWEST[index]), int(self.counts[index]))
        encoded: bytes = histogram.encode()
        return encoded.decode("ascii")

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.counts + other.counts)

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def compute_quantiles_ns(self, *quantiles: float) -> tuple[int, ...]:
        """Return the values at these quantiles (0 to 1), in nanoseconds: the highest that counts as the same.

        Raises ValueError if there are no values.
        """
        cumulative = np.cumsum(self.counts)
        total = int(cumulative[-1])
        if not total:
            raise ValueError("no values, no quantiles")
        # A rank that rounding has put a hair over a whole number is that number.
        ranks = np.maximum(np.ceil(np.asarray(quantiles) * total - 1e-9), 1)
        indexes = np.searchsorted(cumulative, ranks, side="left")
        return tuple(int(value) for value in _LOWEST[indexes] + _WIDTH[indexes] - 1)

    @property
    def sum_ns(self) -> float:
        """The sum in nanoseconds, each value taken as the middle of those that count as the same."""
        return float(self.counts @ _MIDDLE)

    @property
    def mean_ns(self) -> float:
        return self.sum_ns / self.count

    @property
    def stdev_ns(self) -> float:
        """The standard deviation in nanoseconds, of the values as a population."""
        return float(np.sqrt(self.counts @ (_MIDDLE - self.mean_ns) ** 2 / self.count))
