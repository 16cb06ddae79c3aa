"""How `wirebench client` writes response times."""

from __future__ import annotations

import pytest

from wirebench.cli.client.show import format_ms


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        (0.01234, "0.0123 ms"),
        (1.0, "1.00 ms"),
        (12.34, "12.3 ms"),
        (123.4, "123 ms"),
        (999.6, "1,000 ms"),
        (12_345.6, "12,346 ms"),
    ],
)
def test_three_digits(milliseconds: float, expected: str) -> None:
    """Three digits, and whole milliseconds from a second on."""
    assert expected == format_ms(milliseconds)
