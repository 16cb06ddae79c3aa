"""The command line: one file a command, and one place where errors become exit statuses."""

from __future__ import annotations

import sys

import click
import typer

from wirebench.cli import client, doctor, list_, report, results, run, verify
from wirebench.cli.output import complain
from wirebench.errors import WirebenchError
from wirebench.processes import Interrupted

EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="wirebench",
    help="REST, gRPC or a plain socket? Measures one application behind all three, and says what the numbers support.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("list")(list_.list_)
app.command("results")(results.results)
app.command("report")(report.report)
app.command("verify")(verify.verify)
app.command("doctor")(doctor.doctor)
app.add_typer(client.app, name="client")


def main() -> None:
    """Run the command and exit: 0 done, 1 a check failed, 2 wrong usage or input, 130 interrupted."""
    try:
        status = app(standalone_mode=False)
    except WirebenchError as error:
        complain(error)
        status = error.exit_status
    except click.exceptions.Abort:
        status = EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (Interrupted, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; that is no failure.
        sys.stdout = None  # type: ignore[assignment]
        status = 0
    sys.exit(status if isinstance(status, int) else 0)
