"""The command line: one file a command, and one place where errors and signals become exit statuses."""

from __future__ import annotations

import sys
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.system.files import make_write_error
from wirebench.system.signals import Interrupted, handle_interrupts

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit: 0 done, 1 a check failed, 2 wrong usage or input, 130 interrupted."""
    try:
        with handle_interrupts():
            status = _run()
    except WirebenchError as error:
        from wirebench.cli.console import print_error

        print_error(error)
        sys.exit(error.exit_status)
    except Interrupted:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)
    sys.exit(status)


def _run() -> int:
    """Run the command, and see that what it printed is out. Raises WirebenchError."""
    # Imported late: Ctrl-C is understood already while all the rest is loaded.
    from wirebench.cli import stdout
    from wirebench.cli.app import run_app

    stdout.guard()
    try:
        status = run_app()
        stdout.flush()
    except BrokenPipeError:  # who read it has left
        stdout.drop()
        return EXIT_FAILED
    except stdout.StdoutError as error:
        stdout.drop()
        raise make_write_error(Path("stdout"), error) from error
    return status
