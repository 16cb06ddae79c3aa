"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.errors import UsageError
from wirebench.places import SCENARIOS

Rest = Annotated[
    str | None, typer.Option("--rest", metavar="URL", help="Address of the REST service (external target).")
]
Grpc = Annotated[
    str | None, typer.Option("--grpc", metavar="ADDR", help="Address of the gRPC service (external target).")
]
Socket = Annotated[
    str | None, typer.Option("--socket", metavar="ADDR", help="Address of the socket service (external target).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunName = Annotated[str, typer.Option("--run", metavar="RUN", help="A run's name, its folder, or `last`.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")]


def help_without_command(context: typer.Context) -> None:
    """Show the help where there should be a command; nothing was done, so the exit status is that of wrong usage."""
    if context.invoked_subcommand is None:
        sys.stderr.write(f"{context.get_help()}\n")
        raise typer.Exit(UsageError.exit_status)


def given_addresses(rest: str | None, grpc: str | None, socket: str | None) -> dict[str, str]:
    """Return the addresses that were given, by transport."""
    addresses = {"rest": rest, "grpc": grpc, "socket": socket}
    return {transport: address for transport, address in addresses.items() if address}


def scenario_path(name: str) -> Path:
    """Return the scenario file of a path, or of the name of one that comes with wirebench. Raises UsageError."""
    for path in (Path(name), SCENARIOS / name, SCENARIOS / f"{name}.yaml"):
        if path.is_file():
            return path
    raise UsageError(f"no scenario {name!r}", "`wirebench list` shows the scenarios that come with wirebench")
