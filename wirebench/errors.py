"""The errors that users meet: one line that says what is wrong, and one that says what to do next."""

from __future__ import annotations


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
