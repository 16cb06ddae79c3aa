"""Texts that others have stored, written so that they steer neither a terminal nor what shows Markdown."""

from __future__ import annotations


def escape_controls(text: str) -> str:
    """Return the text with control characters escaped: what others have stored must not steer our terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
