"""Arrivals as they come in life: quiet for a while, then many at once.

A Markov-modulated Poisson process of two states: W. Fischer and K. Meier-Hellstern, "The Markov-modulated Poisson
process (MMPP) cookbook", Performance Evaluation 18 (1993) 149-171. In each state requests arrive as a Poisson process
of the state's rate; how long a state lasts is exponentially distributed. Of the rate λ over all, with burst and quiet
states of mean lengths b and q and a burst's rate k times the quiet one's:

    λ = (q·r + b·k·r) / (q + b),    so that the quiet rate is    r = λ·(q + b) / (q + b·k)
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from wirebench.timing.recording import Recording

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Bursts:
    """A process: its rate over all, the mean lengths of its states, and how much more a burst has than a quiet time."""

    rate_per_s: float
    burst_factor: float
    burst_s: float
    quiet_s: float

    @property
    def quiet_rate_per_s(self) -> float:
        """The rate between bursts."""
        return self.rate_per_s * (self.quiet_s + self.burst_s) / (self.quiet_s + self.burst_s * self.burst_factor)

    @property
    def burst_rate_per_s(self) -> float:
        """The rate in a burst."""
        return self.quiet_rate_per_s * self.burst_factor


def generate(bursts: Bursts, duration_s: float, seed: int) -> Recording | None:
    """Return arrivals of so many seconds, to the microsecond, the same for the same seed; None if under two."""
    draw = random.Random(seed)  # noqa: S311 - load, not a secret
    # As it stands at a moment that nobody chose: its states by the share of time that they have.
    is_burst = draw.random() < bursts.burst_s / (bursts.burst_s + bursts.quiet_s)
    now, times = 0.0, []
    while now < duration_s:
        end = min(duration_s, now + draw.expovariate(1 / (bursts.burst_s if is_burst else bursts.quiet_s)))
        rate = bursts.burst_rate_per_s if is_burst else bursts.quiet_rate_per_s
        # A Poisson process has no memory: what was drawn beyond a state's end is forgotten, and drawn anew.
        while (now := now + draw.expovariate(rate)) < end:
            times.append(round(now * 1e6) * 1000)
        now, is_burst = end, not is_burst
    if len(times) < 2 or times[-1] == times[0]:  # noqa: PLR2004 - less than a gap
        return None
    return Recording(tuple(time - times[0] for time in times))
