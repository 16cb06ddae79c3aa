"""When the requests of a replay are due: one by one, so that all generators of a load agree on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wirebench.model.cell import Cell
from wirebench.model.scenario import Load

_NS = 1_000_000_000

Moments = NDArray[np.int64]


def compute_window_arrivals_ns(load: Load) -> Moments | None:
    """Return when the window's requests are due, in nanoseconds from its start, in order; None if the load is steady.

    Shape (requests,).
    """
    window_ns = round(load.window_s * _NS)
    if load.recording is None:
        return None
    due = np.rint(np.array(load.recording.offsets_ns, dtype=np.float64) / load.speedup).astype(np.int64)
    return due[due < window_ns]


def compute_arrivals_ns(load: Load) -> Moments | None:
    """Return when all requests are due, in nanoseconds from the load's start; None if the load is steady.

    The warm-up has the recording's mean rate, evenly.
    """
    window = compute_window_arrivals_ns(load)
    if window is None:
        return None
    rate_per_s = len(window) / load.window_s
    warmup_ns = round(load.warmup_s * _NS)
    warmup = np.arange(int(load.warmup_s * rate_per_s) + 1) * (_NS / rate_per_s)
    return np.concatenate([np.rint(warmup[warmup < warmup_ns]).astype(np.int64), window + warmup_ns])


def compute_rate_asked_per_s(load: Load, cell: Cell) -> float | None:
    """Return how many requests a second are due in the window; None under a closed load."""
    due = compute_window_arrivals_ns(load)
    return cell.rate_per_s if due is None else len(due) / load.window_s
