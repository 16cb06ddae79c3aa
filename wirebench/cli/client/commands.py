"""The commands: `client rest`, `client grpc` and `client socket`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.console import Console
from wirebench_services.client import Client

from wirebench.cli.app import help_without_command
from wirebench.cli.client import show
from wirebench.cli.client.menu import read_line, run_demo, run_menu
from wirebench.cli.options import Json, TlsOptions, expand_groups, read_environment_address
from wirebench.errors import UsageError
from wirebench.measure.client import connect
from wirebench.system.tls import ClientTls

_PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}

UserId = Annotated[int, typer.Argument(help="Id of the user.", metavar="ID")]


@dataclass(frozen=True, slots=True)
class User:
    """Fields of a user."""

    name: str | None = None
    email: str | None = None
    phone: str | None = None
    address: str | None = None
    bio: str | None = None
    tags: Annotated[list[str] | None, typer.Option("--tag", help="May be given several times.")] = None

    @property
    def given(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to connect to."""

    transport: str
    address: str
    timeout_s: float
    tls: ClientTls | None

    def open(self) -> AbstractContextManager[Client]:
        return connect(self.transport, self.address, tls=self.tls, timeout_s=self.timeout_s)

    def call_once(self, operation: str, fields: dict[str, object], *, json: bool) -> None:
        """Make one call and show the reply. Raises WirebenchError if the service rejects it or fails."""
        with self.open() as client:
            timed = show.time_call(client, operation, fields)
        show.require(*timed)
        if json:
            show.show_json(timed)
        else:
            show.show_reply(Console(), timed)


def _choose_address(transport: str, host: str | None, port: int | None, address: str | None) -> str:
    """Return where to connect to: from flags, else from the environment, else on this machine."""
    if address and (host or port):
        raise UsageError("--address excludes --host and --port", "give --address HOST:PORT alone")
    if not (host or port):
        address = address or read_environment_address(transport)
    named_host = f"[{host}]" if host and ":" in host else host or "127.0.0.1"
    return address or f"{named_host}:{port or _PORTS[transport]}"


def _get_user(context: typer.Context, user_id: UserId, *, json: Json = False) -> None:
    """Get one user."""
    context.obj.call_once("users.get", {"id": user_id}, json=json)


def _list_users(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option(help="At most this many; 0 means all.")] = 10,
    after_id: Annotated[int, typer.Option(help="Only users with a greater id.")] = 0,
    json: Json = False,
) -> None:
    """List users in the order of their ids."""
    context.obj.call_once("users.list", {"limit": limit, "after_id": after_id}, json=json)


def _create_user(
    context: typer.Context,
    *,
    user_id: Annotated[int, typer.Option("--id", help="Id of the user, greater than 0.")],
    user: User,
    json: Json = False,
) -> None:
    """Create one user."""
    context.obj.call_once("users.create", {"user": {"id": user_id, **user.given}}, json=json)


def _update_user(context: typer.Context, user_id: UserId, *, user: User, json: Json = False) -> None:
    """Change the fields that are given of one user."""
    context.obj.call_once("users.update", {"id": user_id, **user.given}, json=json)


def _delete_user(context: typer.Context, user_id: UserId, *, json: Json = False) -> None:
    """Delete one user and show it as it was."""
    context.obj.call_once("users.delete", {"id": user_id}, json=json)


def _get_balance(
    context: typer.Context,
    account_id: Annotated[int, typer.Argument(help="Id of the account, 1 to 10000.", metavar="ID")],
    *,
    json: Json = False,
) -> None:
    """Get what an account holds."""
    context.obj.call_once("ledger.get_balance", {"account_id": account_id}, json=json)


def _stream_transactions(
    context: typer.Context,
    *,
    since: Annotated[int | None, typer.Option(help="Only those of this Unix second or later.")] = None,
    rate_limit: Annotated[int | None, typer.Option(help="At most so many a second.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many; without it, all.")] = None,
    json: Json = False,
) -> None:
    """Stream transactions, as they come; Ctrl-C cancels. With --json, one a line."""
    wanted = {"since": since, "rate_limit": rate_limit, "limit": limit}
    fields: dict[str, object] = {name: value for name, value in wanted.items() if value is not None}
    with context.obj.open() as client, closing(client.stream("ledger.stream_transactions", fields)) as items:
        show.show_items(items, json=json)
        if items.reply:
            show.require(items.reply)


_COMMANDS: dict[str, Callable[..., None]] = {
    "create": _create_user,
    "get": _get_user,
    "list": _list_users,
    "update": _update_user,
    "delete": _delete_user,
    "balance": _get_balance,
    "transactions": _stream_transactions,
}


def _converse(connection: Connection, message: str | None, *, demo: bool) -> None:
    console = Console()
    with connection.open() as client:
        if message is not None:
            _convert_text(client, message)
        elif demo:
            run_demo(client, console)
        elif connection.transport == "socket":
            _convert_lines(client)
        else:
            run_menu(client, console, f"{connection.transport} at {connection.address}")


def _convert_text(client: Client, text: str) -> None:
    """Print what comes back; its response time goes to stderr, so that stdout is the text alone."""
    timed = show.time_call(client, "echo.upper", {"text": text})
    sys.stdout.write(f"{show.require(*timed)['text']}\n")
    sys.stdout.flush()
    sys.stderr.write(f"{show.format_ms(timed.response_time_ms)}\n")


def _convert_lines(client: Client) -> None:
    prompt = "> " if sys.stdin.isatty() else ""
    try:
        while True:
            line = read_line(prompt)
            if line:
                _convert_text(client, line)
            else:
                sys.stdout.write("\n")
    except EOFError:
        sys.stdout.write("\n" if prompt else "")


def _make_group(transport: str, name: str) -> typer.Typer:
    """Return the commands of a transport: the same for all, but for where its service listens by default."""

    def choose_service(  # noqa: PLR0913 - an option is an argument
        context: typer.Context,
        *,
        host: Annotated[str | None, typer.Option(help="Host of the service; default: 127.0.0.1.")] = None,
        port: Annotated[
            int | None, typer.Option(min=1, max=65_535, help="Port of the service, if not its default.")
        ] = None,
        address: Annotated[
            str | None,
            typer.Option(
                metavar="HOST:PORT",
                help="Both in one; https:// before it: TLS. Default: WIREBENCH_REST, WIREBENCH_GRPC or "
                "WIREBENCH_SOCKET.",
            ),
        ] = None,
        timeout_s: Annotated[float, typer.Option(min=0.01, max=3600, help="How long to wait for the service.")] = 5.0,
        tls_files: TlsOptions,
        message: Annotated[str | None, typer.Option(metavar="TEXT", help="Have this text upper-cased.")] = None,
        demo: Annotated[
            bool, typer.Option("--demo", help="Create, list, fetch, update and delete three users.")
        ] = False,
        interactive: Annotated[
            bool,
            typer.Option("--interactive", help="Ask what to do (socket: read lines, upper-case each); the default."),
        ] = False,
    ) -> None:
        asked = (message is not None, demo, interactive, context.invoked_subcommand is not None)
        if sum(asked) > 1:
            raise UsageError("--message, --demo, --interactive and a command exclude each other", "give one of them")
        if message == "":
            raise UsageError("--message: the text is empty", "give a text; `--interactive` takes empty lines, too")
        where = _choose_address(transport, host, port, address)
        context.obj = Connection(transport, where, timeout_s, tls_files.load())
        if context.invoked_subcommand is None:
            _converse(context.obj, message, demo=demo)

    group = typer.Typer(
        invoke_without_command=True, callback=expand_groups(choose_service), help=f"Talk to the {name} service."
    )
    for command, function in _COMMANDS.items():
        group.command(command)(expand_groups(function))
    return group


app = typer.Typer(
    help="Talk to a service: one call, an interactive menu, or a demo. Shows the response time of each call; "
    "over REST and gRPC, that of the first call includes connecting.",
    callback=help_without_command,
    invoke_without_command=True,
)
for _transport, _name in {"rest": "REST", "grpc": "gRPC", "socket": "socket"}.items():
    app.add_typer(_make_group(_transport, _name), name=_transport)
