"""Whole numbers that clients send: one check, and one way to say what is wrong with them."""

from __future__ import annotations

from services.domain.errors import InvalidArgument

INT32_MAX = 2**31 - 1


def parse_int(name: str, value: object, least: int, most: int) -> int:
    """Check an integer. Raises InvalidArgument, naming the field."""
    if type(value) is not int:  # True is an int to Python, and to nobody else
        raise InvalidArgument(f"Field '{name}' must be an integer.")
    if not least <= value <= most:
        raise InvalidArgument(f"Field '{name}' must be between {least} and {most}.")
    return value
