"""Many tests at once: which of them hold, so that a false one among all of them is as rare as in a single test."""

from __future__ import annotations

from collections.abc import Sequence


def holds(p_values: Sequence[float], level: float) -> tuple[bool, ...]:
    """Return which of m tests hold together: the chance that any of them does by mere chance is at most `level`.

    Holm's step-down procedure (S. Holm: A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6, 1979): the smallest p-value must be within 1/m of the level, the next within 1/(m - 1), and so on;
    the first that isn't ends it. It asks nothing of how the tests depend on each other.
    """
    held = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        if p_values[place] > level / (len(p_values) - rank):
            break
        held[place] = True
    return tuple(held)
