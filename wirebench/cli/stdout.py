"""A stdout that can't be written, because it is closed, broken or full, is an error of one line."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from wirebench.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StdoutError(OSError):
    """What was printed could not be written, and not because its reader has left."""


class _Raw(io.FileIO):
    """Raises its own errors, which differ from those of other files."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StdoutError(error.errno, error.strerror) from None


def guard() -> None:
    """Have StdoutError raised wherever something is printed and can't be. Raises UsageError if stdout is closed."""
    if sys.stdout is None:
        # The next file that is opened would get its number, and what is printed.
        raise UsageError("stdout is closed", "leave it open, or lead it elsewhere: > FILE")
    is_that_of_python = sys.stdout is sys.__stdout__
    if is_that_of_python:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Raw(sys.stdout.fileno(), "wb", closefd=False)),
            encoding=sys.stdout.encoding,
            # What its encoding lacks is no reason to lose the rest.
            errors="backslashreplace" if sys.stdout.errors == "strict" else sys.stdout.errors,
            line_buffering=sys.stdout.isatty(),
        )


def flush() -> None:
    """See that what was printed is out. Raises StdoutError, BrokenPipeError."""
    if not sys.stdout.closed:  # as an error may have left it
        sys.stdout.flush()


def drop() -> None:
    """Write nothing more there: Python would try what is left in its buffer once more at its end.

    https://docs.python.org/3/library/signal.html#note-on-sigpipe
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
