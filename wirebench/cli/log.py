"""What commands say on stderr besides errors: the logger of the package, whose level -q and -v set."""

from __future__ import annotations

import contextlib
import logging
import sys

LOG = logging.getLogger("wirebench")


class _StderrHandler(logging.Handler):
    """Writes to what stderr is at that moment, as a progress bar may be there; its reader may have left."""

    def emit(self, record: logging.LogRecord) -> None:
        prefix = "warning: " if record.levelno == logging.WARNING else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{prefix}{record.getMessage()}\n")


LOG.addHandler(_StderrHandler())
LOG.setLevel(logging.INFO)
