"""All commands, one file each."""

from __future__ import annotations

from typing import cast

import typer
from pydantic import ValidationError

from wirebench.cli import (
    bundle,
    calibrate,
    client,
    compare,
    doctor,
    export,
    history,
    import_,
    index,
    list_,
    load,
    report,
    reproduce,
    results,
    resume,
    run,
    send,
    serve,
    timing,
    verify,
)
from wirebench.cli.options import help_without_command
from wirebench.errors import UsageError
from wirebench.findings import in_words

app = typer.Typer(
    name="wirebench",
    help="REST, gRPC or a plain socket? Measures one application behind all three, and says what the numbers support.",
    callback=help_without_command,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("resume")(resume.resume)
app.command("load")(load.load)
app.command("list")(list_.list_)
app.command("bundle")(bundle.bundle)
app.command("import")(import_.import_)
app.command("reproduce")(reproduce.reproduce)
app.command("results")(results.results)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("history")(history.history)
app.command("export")(export.export)
app.command("serve")(serve.serve)
app.command("send")(send.send)
app.command("index")(index.index)
app.command("calibrate")(calibrate.calibrate)
app.command("verify")(verify.verify)
app.command("doctor")(doctor.doctor)
app.add_typer(timing.app, name="timing")
app.add_typer(client.app, name="client")


def run_app() -> int:
    """Run the command that the arguments name, and return its exit status. Raises WirebenchError."""
    try:
        return cast("int | None", app(prog_name="wirebench", standalone_mode=False)) or 0
    except typer.TyperException as error:
        raise _usage_error(error) from None


def _usage_error(error: typer.TyperException) -> UsageError:
    """Say wrong usage in our words: typer would show how the command is used, and pydantic's."""
    context: typer.Context | None = getattr(error, "ctx", None)
    message = error.format_message().removesuffix(".")
    if isinstance(error.__cause__, ValidationError):
        message = f"{message.partition(': ')[0]}: {in_words(error.__cause__.errors()[0])}"
    command = context.command_path if context else "wirebench"
    return UsageError(f"{message[:1].lower()}{message[1:]}", f"`{command} --help` shows what there is")
