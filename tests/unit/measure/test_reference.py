"""The fixed piece of work that shows how fast a core is."""

from __future__ import annotations

import os

import pytest

from wirebench.measure import reference


def test_it_is_done_on_the_core_and_binds_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing else of wirebench moves."""
    own = os.sched_getaffinity(0)
    core, used = max(own), set[frozenset[int]]()
    monkeypatch.setattr(reference, "_work", lambda: used.add(frozenset(os.sched_getaffinity(0))))
    reference.measure_reference_us(core)
    assert used == {frozenset({core})}
    assert os.sched_getaffinity(0) == own


def test_twice_the_work_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It measures work, and no constant."""
    core = min(os.sched_getaffinity(0))
    once_us = min(reference.measure_reference_us(core) for _ in range(5))
    monkeypatch.setattr(reference, "_ROUNDS", 2 * reference._ROUNDS)
    twice_us = min(reference.measure_reference_us(core) for _ in range(5))
    assert 1.2 * once_us < twice_us
