"""Loads in words."""

from __future__ import annotations

import pytest

from wirebench.model.scenario import Load
from wirebench.present.remarks import describe_load


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(), "closed"),
        (Load(timeout_s=0.2), "closed, timeout 0.2 s"),
        (Load(model="open", concurrency_max=1000), "open, up to 1,000 connections"),
        (Load(spawn_rate_per_s=20), "closed, 20 users start a second"),
        (Load(model="calls", calls=2000, warmup_calls=15), "2,000 calls a connection, 15 to warm up"),
    ],
)
def test_a_load_is_described(load: Load, expected: str) -> None:
    """Its model, and what differs from the default."""
    assert expected == describe_load(load)
