"""When the requests of a load that changes are due: one by one, so that all generators of a load agree on them.

A ramp's rate grows linearly from r₀ to r₁ in the first R seconds of the window; by time t,
N(t) = r₀·t + (r₁ − r₀)·t² / 2R requests are due. Request n, counted from 0, is due when N(t) = n:

    t = 2n / (r₀ + √(r₀² + 2·n·(r₁ − r₀) / R))

Then it stays at r₁: request n is due at R + (n − N(R)) / r₁. A ramp of R = 0 is a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wirebench.model.cell import Cell
from wirebench.model.scenario import Load

_NS = 1_000_000_000

Moments = NDArray[np.int64]


def compute_window_arrivals_ns(load: Load, cell: Cell) -> Moments | None:
    """Return when the window's requests are due, in nanoseconds from its start, in order; None if the load is steady.

    Shape (requests,).
    """
    window_ns = round(load.window_s * _NS)
    if load.model == "ramp" and cell.rate_per_s is not None:
        due = _compute_ramp_ns(load, float(load.from_rate_per_s or 0), float(cell.rate_per_s))
    elif load.recording is not None:
        due = np.rint(np.array(load.recording.offsets_ns, dtype=np.float64) / load.speedup).astype(np.int64)
    else:
        return None
    return due[due < window_ns]


def compute_arrivals_ns(load: Load, cell: Cell) -> Moments | None:
    """Return when all requests are due, in nanoseconds from the load's start; None if the load is steady.

    The warm-up has the rate that a ramp begins with, or a recording's mean rate, evenly.
    """
    window = compute_window_arrivals_ns(load, cell)
    if window is None:
        return None
    rate_per_s = load.from_rate_per_s or len(window) / load.window_s
    warmup_ns = round(load.warmup_s * _NS)
    warmup = np.arange(int(load.warmup_s * rate_per_s) + 1) * (_NS / rate_per_s)
    return np.concatenate([np.rint(warmup[warmup < warmup_ns]).astype(np.int64), window + warmup_ns])


def compute_rate_asked_per_s(load: Load, cell: Cell) -> float | None:
    """Return how many requests a second are due in the window; None under a closed load."""
    due = compute_window_arrivals_ns(load, cell)
    return cell.rate_per_s if due is None else len(due) / load.window_s


def _compute_ramp_ns(load: Load, from_per_s: float, to_per_s: float) -> Moments:
    growing = (from_per_s + to_per_s) / 2 * load.growing_s
    count = np.arange(int(load.count_ramp_requests(to_per_s)) + 1, dtype=np.float64)
    early, late = count[count < growing], count[count >= growing]
    # Rounding may put the last one of a ramp that goes down a hair beyond its end.
    root = np.sqrt(np.maximum(from_per_s**2 + 2 * early * (to_per_s - from_per_s) / (load.growing_s or 1), 0))
    due_s = (2 * early / (from_per_s + root), load.growing_s + (late - growing) / to_per_s)
    return np.rint(np.concatenate(due_s) * _NS).astype(np.int64)
