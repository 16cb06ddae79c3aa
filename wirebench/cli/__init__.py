"""The command line: one file a command, and one place where errors and signals become exit statuses."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError
from wirebench.system.files import make_write_error
from wirebench.system.signals import Interrupted, handle_interrupts

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command and exit: 0 done, 1 a check failed, 2 wrong usage or input, 130 interrupted."""
    try:
        with handle_interrupts():
            status = _run()
    except WirebenchError as error:
        from wirebench.cli.console import print_error

        print_error(error)
        status = error.exit_status
    except Interrupted:
        sys.stderr.write("interrupted\n")
        status = EXIT_INTERRUPTED
    sys.exit(status)


def _run() -> int:
    """Run the command, and see that what it printed is out. Raises WirebenchError."""
    # Imported late: Ctrl-C is understood already while all the rest is loaded.
    from wirebench.cli.app import run_app

    if sys.stdout is None:  # the next file that is opened would get its number, and what is printed
        raise UsageError("stdout is closed", "leave it open, or lead it elsewhere: > FILE")
    if isinstance(sys.stdout, io.TextIOWrapper):  # what its encoding lacks is no reason to lose the rest
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return run_app()
    except OSError as error:
        if error.filename is None:
            raise make_write_error(Path("stdout"), error) from error
        raise WirebenchError(f"{error.filename}: {error.strerror}", "check the path, and who may use it") from error
    finally:
        _flush()


def _flush() -> None:
    """See that what was printed is out. Raises WirebenchError, but not where who read it has left."""
    for number, stream in enumerate((sys.stdout, sys.stderr), start=1):
        try:
            stream.flush()
        except OSError as error:
            # Python would try once more at its end: https://docs.python.org/3/library/signal.html#note-on-sigpipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            if not isinstance(error, BrokenPipeError):
                raise make_write_error(Path("stdout"), error) from error
