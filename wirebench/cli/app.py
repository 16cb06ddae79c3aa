"""All commands, one module each. A module is imported when its command is called, so that help is there at once."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from wirebench.errors import UsageError

#: What `wirebench --help` shows. The modules are named after the commands, as are their functions.
GROUPS = {
    "Measure": {
        "run": "Measure a scenario, and report what differs.",
        "resume": "Continue an interrupted run.",
        "load": "Send a plain load to a service.",
        "calibrate": "Measure how accurate each driver is on this machine.",
        "verify": "Check that all services answer the same requests alike.",
    },
    "Look": {
        "results": "Show the figures and verdicts of a run.",
        "report": "Write the report of a run: one HTML file.",
        "compare": "Compare two runs by the cells that both have.",
        "serve": "Serve results as pages and as an API, until Ctrl-C.",
        "list": "List scenarios and runs.",
        "delete": "Delete runs.",
    },
    "Prepare": {
        "init": "Draft an application file and a scenario for your own service.",
        "doctor": "Check this machine for what would spoil runs or their figures.",
    },
    "Services": {"client": "Talk to a service: one call, an interactive menu, or a demo."},
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
_MODULES = {"list": "list_"}
#: What typer adds to an argument's name and to a help text: a type such as `<str>`, and a range such as `x>=0`.
_TYPE, _RANGE = re.compile(r" <.*>$"), re.compile(r"  \[([\d.]*<?=?x[<>]=[\d.]+)\]|; ([\d.]*<?=?x[<>]=[\d.]+)")


class GroupedCommands(TyperGroup):
    """Lists commands in the groups in which a user looks for them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer exports no types
        """Write the commands, each group under its heading."""
        width = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])


class GroupedCommand(TyperCommand):
    """Groups options by `rich_help_panel`, which typer itself ignores in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - types that typer doesn't export
        """Write arguments and options, each group under its heading."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if record := each.get_help_record(ctx):
                default = "Arguments" if each.param_type_name == "argument" else "Options"
                heading = getattr(each, "rich_help_panel", None) or default
                groups.setdefault(heading, []).append((_TYPE.sub("", record[0]), _RANGE.sub("", record[1])))
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def show_version(is_asked: bool) -> None:  # noqa: FBT001 - a callback of typer
    if is_asked:
        from importlib import metadata

        sys.stdout.write(f"wirebench {metadata.version('wirebench')}\n")
        raise typer.Exit


def show_help_without_command(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - show_version has acted on it
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Show the help where there should be a command; nothing was done, so the exit status is that of wrong usage."""
    if context.invoked_subcommand is None:
        sys.stderr.write(f"{context.get_help()}\n")
        raise typer.Exit(UsageError.exit_status)


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """Make the application with the command that the arguments name; of all others it has the summary only."""
    called = next((argument for argument in arguments if not argument.startswith("-")), None)
    app = typer.Typer(
        name="wirebench",
        cls=GroupedCommands,
        help="REST, gRPC or a plain socket? Measures one application behind all three, or your own services, and "
        "reports only the differences that the data supports.",
        callback=show_help_without_command,
        context_settings={"help_option_names": ["-h", "--help"]},
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, summary in COMMANDS.items():
        if name != called:
            app.command(name, short_help=summary)(lambda: None)
            continue
        from wirebench.cli.options import expand_groups

        module_name = _MODULES.get(name, name)
        command = getattr(import_module(f"wirebench.cli.{module_name}"), module_name)
        # The mark \b keeps the lines of a paragraph: those of examples.
        text = str(inspect.getdoc(command)).replace("\n\nwirebench ", "\n\n\b\nwirebench ")
        app.command(name, cls=GroupedCommand, help=text)(expand_groups(command))
    return app


def run_app() -> int:
    """Run the command that the arguments name, and return its exit status. Raises WirebenchError."""
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS")  # of a shell that asks to complete
    app = make_app(words.split()[1:] if words else sys.argv[1:])
    try:
        return cast("int | None", app(prog_name="wirebench", standalone_mode=False)) or 0
    except typer.TyperException as error:
        raise _describe_usage_error(error) from None


def _describe_usage_error(error: typer.TyperException) -> UsageError:
    """Return the error in our words: typer would show the usage, and pydantic's words."""
    from pydantic import ValidationError

    from wirebench.model.validation_messages import describe_error

    context: typer.Context | None = getattr(error, "ctx", None)
    message = " ".join(error.format_message().split()).removesuffix(".")
    if isinstance(error.__cause__, ValidationError):
        message = f"{message.partition(': ')[0]}: {describe_error(error.__cause__.errors()[0])}"
    command = context.command_path if context else "wirebench"
    return UsageError(f"{message[:1].lower()}{message[1:]}", f"`{command} --help` shows what there is")
