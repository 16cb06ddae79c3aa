"""What a recording looks like: its rates, how bursty it is, and a small plot of it as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wirebench.timing.recording import Recording

_SECOND_NS = 1_000_000_000
_EIGHTHS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Shape:
    """The figures of a recording; `peak_rate_per_s` is that of its fullest second, from the first request on.

    `burstiness` is the coefficient of variation of the gaps, their standard deviation over their mean: 0 for a clock, 1
    for a Poisson process, and more for bursts.
    """

    count: int
    duration_s: float
    mean_rate_per_s: float
    peak_rate_per_s: int
    burstiness: float


def shape_of(recording: Recording) -> Shape:
    """Return the figures of a recording."""
    gaps = np.diff(np.array(recording.offsets_ns))
    seconds = np.array(recording.offsets_ns) // _SECOND_NS
    _, per_second = np.unique(seconds, return_counts=True)
    return Shape(
        count=recording.count,
        duration_s=recording.duration_s,
        mean_rate_per_s=recording.mean_rate_per_s,
        peak_rate_per_s=int(per_second.max()),
        burstiness=float(gaps.std() / gaps.mean()),
    )


def plot(recording: Recording, columns: int = 72, rows: int = 6) -> str:
    """Return a plot of the rate over time: bars from 0 to the fullest of so many equal slices, with both axes named."""
    rates = _rates(recording, columns)
    most = float(rates.max())
    bars = list(_bars(rates / most, rows))
    margin = len(f"{most:,.0f}/s")
    labels = [f"{most:,.0f}/s", *[""] * (rows - 1)]
    lines = [f"{label:>{margin}} │{bar}" for label, bar in zip(labels, bars, strict=True)]
    end = f"{recording.duration_s:,.1f} s"
    axis = f"{'0':>{margin}} └{'─' * columns}"
    return "\n".join([*lines, axis, f"{'':>{margin}}  0 s{end:>{columns - 3}}"])


def _rates(recording: Recording, slices: int) -> NDArray[np.float64]:
    """Return the rate in each of so many equal slices, in requests a second."""
    counts, _ = np.histogram(np.array(recording.offsets_ns), bins=slices)
    return np.asarray(counts / (recording.duration_s / slices), dtype=np.float64)


def _bars(shares: NDArray[np.float64], rows: int) -> Iterator[str]:
    """Yield the lines of a bar chart of values from 0 to 1, the top one first, in eighths of a character."""
    eighths = np.rint(shares * rows * 8).astype(int)
    eighths[(shares > 0) & (eighths == 0)] = 1  # a little is not nothing
    for row in reversed(range(rows)):
        yield "".join(_EIGHTHS[each] for each in np.clip(eighths - row * 8, 0, 8))
