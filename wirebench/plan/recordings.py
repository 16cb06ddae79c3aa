"""Recordings: generated bursts, and what a recording looks like: rates, burstiness, and a plot as text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wirebench.model.recording import Recording

_SECOND_NS = 1_000_000_000
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def generate_bursts(  # noqa: PLR0913 - parameters of a process
    rate_per_s: float, burst_factor: float, burst_s: float, quiet_s: float, *, duration_s: float, seed: int
) -> Recording | None:
    """Return arrivals of so many seconds, to the microsecond, the same for the same seed; None if under two.

    It is a Markov-modulated Poisson process of two states: W. Fischer and K. Meier-Hellstern, "The Markov-modulated
    Poisson process (MMPP) cookbook", Performance Evaluation 18 (1993) 149-171. In each state requests arrive as a
    Poisson process of the state's rate; how long a state lasts is exponentially distributed. Of the rate λ over all,
    with burst and quiet states of mean lengths b and q and a burst's rate k times the quiet one's:

        λ = (q·r + b·k·r) / (q + b),    so that the quiet rate is    r = λ·(q + b) / (q + b·k)
    """
    draw = random.Random(seed)  # noqa: S311 - load, not a secret
    quiet_rate_per_s = rate_per_s * (quiet_s + burst_s) / (quiet_s + burst_s * burst_factor)
    # As it stands at a random moment: its states by the share of time that they have.
    is_burst = draw.random() < burst_s / (burst_s + quiet_s)
    now, times = 0.0, []
    while now < duration_s:
        end = min(duration_s, now + draw.expovariate(1 / (burst_s if is_burst else quiet_s)))
        rate = quiet_rate_per_s * (burst_factor if is_burst else 1)
        # A Poisson process has no memory: what was drawn beyond a state's end is dropped, and drawn again.
        while (now := now + draw.expovariate(rate)) < end:
            times.append(round(now * 1e6) * 1000)
        now, is_burst = end, not is_burst
    if len(times) < 2 or times[-1] == times[0]:  # noqa: PLR2004 - less than a gap
        return None
    return Recording(tuple(time - times[0] for time in times))


def compute_peak_rate_per_s(recording: Recording) -> int:
    """Return how many requests the fullest second has, counted from the first request on."""
    _, per_second = np.unique(np.array(recording.offsets_ns) // _SECOND_NS, return_counts=True)
    return int(per_second.max())


def compute_burstiness(recording: Recording) -> float:
    """Return the coefficient of variation of the gaps, their standard deviation over their mean.

    0 for a clock, 1 for a Poisson process, and more for bursts.
    """
    gaps = np.diff(np.array(recording.offsets_ns))
    return float(gaps.std() / gaps.mean())


def draw_plot(recording: Recording, columns: int = 72, rows: int = 6) -> str:
    """Return a plot of the rate over time: bars from 0 to the fullest of so many equal slices, with both axes named."""
    counts, _ = np.histogram(np.array(recording.offsets_ns), bins=columns)
    rates = np.asarray(counts / (recording.duration_s / columns), dtype=np.float64)
    most = float(rates.max())
    bars = list(_draw_bars(rates / most, rows))
    margin = len(f"{most:,.0f}/s")
    labels = [f"{most:,.0f}/s", *[""] * (rows - 1)]
    lines = [f"{label:>{margin}} │{bar}" for label, bar in zip(labels, bars, strict=True)]
    end = f"{recording.duration_s:,.1f} s"
    axis = f"{'0':>{margin}} └{'─' * columns}"
    return "\n".join([*lines, axis, f"{'':>{margin}}  0 s{end:>{columns - 3}}"])


def _draw_bars(shares: NDArray[np.float64], rows: int) -> Iterator[str]:
    """Yield the lines of a bar chart of values from 0 to 1, the top one first, in eighths of a character."""
    eighths = np.rint(shares * rows * 8).astype(int)
    eighths[(shares > 0) & (eighths == 0)] = 1  # a little is not nothing
    for row in reversed(range(rows)):
        yield "".join(_EIGHTHS[each] for each in np.clip(eighths - row * 8, 0, 8))
