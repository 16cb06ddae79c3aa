"""Delays: what may be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scenario_text import GOOD, reject


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("delay_ms: -1", "delay_ms: must be at least 0 (it is -1)"),
        ("delay_ms: 3600000", "delay_ms: must be at most 5000 (it is 3600000)"),
        ("delay: 5", "delay: no such key: there are delay_ms"),
    ],
)
def test_a_network_that_can_not_be_is_rejected(tmp_path: Path, network: str, expected: str) -> None:
    """With line and reason, before anything starts."""
    reject(tmp_path, GOOD.replace("operation: users.get", network), f"4: factors.{expected}")
