"""How much a command prints besides its results: options -q and -v."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar

from wirebench.errors import UsageError

_IS_QUIET: ContextVar[bool] = ContextVar("is_quiet", default=False)
_PROGRAMS = logging.getLogger("wirebench.system.processes")


class _StderrHandler(logging.Handler):
    """Writes to what stderr is at that moment: a progress bar may be there."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{record.getMessage()}\n")


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Set what is printed from now on. Raises UsageError for both."""
    if quiet and verbose:
        raise UsageError("--quiet and --verbose: they exclude each other", "remove one of them")
    _IS_QUIET.set(quiet)
    _PROGRAMS.handlers = [_StderrHandler()] if verbose else []
    _PROGRAMS.setLevel(logging.INFO if verbose else logging.NOTSET)


def is_quiet() -> bool:
    return _IS_QUIET.get()


def note(text: str) -> None:
    """Write a line on stderr, unless the command is to be quiet."""
    if not is_quiet():
        sys.stderr.write(f"{text}\n")
