"""The command line: one file a command, and one place where errors and signals become exit statuses."""

from __future__ import annotations

import sys

from wirebench.errors import WirebenchError
from wirebench.interrupts import Interrupted, interruptible

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit: 0 done, 1 a check failed, 2 wrong usage or input, 130 interrupted."""
    try:
        with interruptible():
            # Imported late: Ctrl-C is understood already while all the rest is loaded.
            from wirebench.cli.app import run_app  # noqa: PLC0415

            status = run_app()
    except WirebenchError as error:
        from wirebench.cli.output import complain  # noqa: PLC0415

        complain(error)
        sys.exit(error.exit_status)
    except Interrupted:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)
    sys.exit(status)
