"""The command line: one file a command, and one place where errors become exit statuses."""

from __future__ import annotations

import sys

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
        app()
    except WirebenchError as error:
        complain(error)
        sys.exit(error.exit_status)
    except Interrupted:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)
