"""Histograms of latencies in nanoseconds: HdrHistogram's encoding outside, numpy inside.

Layout and indexing are HdrHistogram's (https://hdrhistogram.github.io/HdrHistogram/): 3 significant digits, values
1 ns to 60 s. Equal layouts merge exactly, by adding counts; no percentile is ever averaged.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

VALUE_MIN_NS = 1
VALUE_MAX_NS = 60_000_000_000
SIGNIFICANT_DIGITS = 3

_HALF_BITS = 10  # sub-buckets are halves of 2,048: what 3 significant digits take
_HALF = 1 << _HALF_BITS
_BUCKETS = 26  # 2,048 << 25 is the first limit over 60 s
_SIZE = (_BUCKETS + 1) * _HALF
_OUTER_HEADER_BYTES = 8
#: A header, and of each count nine bytes at most.
_UNPACKED_BYTES_MAX = 40 + 9 * _SIZE


def _compute_values_of_indexes() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest value of each index, and how many values share the index."""
    index = np.arange(_SIZE, dtype=np.int64)
    bucket = np.maximum((index >> _HALF_BITS) - 1, 0)
    sub_bucket = np.where(index < _HALF, index, (index & (_HALF - 1)) + _HALF)
    return sub_bucket << bucket, np.int64(1) << bucket


_LOWEST, _WIDTH = _compute_values_of_indexes()


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
            _check_size(text)
            decoded = HdrHistogram.decode(text)
        except Exception as error:  # noqa: BLE001 - the library raises its own types, zlib's and struct's
            message = f"not an HdrHistogram: {error}"
            raise ValueError(message) from None
        counts = np.asarray(decoded.counts, dtype=np.int64)
        if len(counts) != _SIZE:
            message = f"an HdrHistogram of another layout: {len(counts)} counts, not {_SIZE}"
            raise ValueError(message)
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
            message = "no values, no quantiles"
            raise ValueError(message)
        # A rank that rounding has put a hair over a whole number is that number.
        ranks = np.maximum(np.ceil(np.asarray(quantiles) * total - 1e-9), 1)
        indexes = np.searchsorted(cumulative, ranks, side="left")
        return tuple(int(value) for value in _LOWEST[indexes] + _WIDTH[indexes] - 1)

    @property
    def sum_ns(self) -> float:
        """The sum in nanoseconds, each value taken as the middle of those that count as the same."""
        counted = np.flatnonzero(self.counts)
        return float(self.counts[counted] @ _MIDDLE[counted])

    @property
    def mean_ns(self) -> float:
        return self.sum_ns / self.count

    @property
    def stdev_ns(self) -> float:
        """The standard deviation in nanoseconds, of the values as a population."""
        counted = np.flatnonzero(self.counts)
        return float(np.sqrt(self.counts[counted] @ (_MIDDLE[counted] - self.mean_ns) ** 2 / self.count))


def _check_size(text: str) -> None:
    """Raise ValueError for what would unpack to more than a histogram: the library unpacks whatever it is given."""
    compressed = base64.b64decode(text)[_OUTER_HEADER_BYTES:]
    if len(zlib.decompressobj().decompress(compressed, _UNPACKED_BYTES_MAX + 1)) > _UNPACKED_BYTES_MAX:
        message = f"unpacks to over {_UNPACKED_BYTES_MAX} bytes"
        raise ValueError(message)


_MIDDLE: NDArray[np.float64] = _LOWEST + (_WIDTH - 1) / 2
