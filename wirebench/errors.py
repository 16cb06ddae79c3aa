"""The errors that users meet: one line that says what is wrong, and one that says what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SUGGESTED_MAX = 10


class WirebenchError(Exception):
    """Something failed that the user can do something about. Exit status 1."""

    exit_status = 1

    def __init__(self, message: str, hint: str = "", details: str = "") -> None:
        """Take the line, the next step, and lines to show below (a tool's last words)."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class UsageError(WirebenchError):
    """Wrong usage or wrong input: nothing was started. Exit status 2."""

    exit_status = 2


def suggest(wanted: str, known: Iterable[str]) -> str:
    """Return the fix for a name that isn't known: the closest ones, or else the first."""
    names = list(known)
    close = difflib.get_close_matches(wanted, names, 3) or names[:_SUGGESTED_MAX]
    return f"there are {', '.join(close)}" + (" …" if len(close) < len(names) else "") if close else "there are none"


def pluralise(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 cell`, `2 cells`; `plural` is that of a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
