"""The commands: `client rest`, `client grpc` and `client socket`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from wirebench import clients
from wirebench.cli.client.demo import run_demo
from wirebench.cli.client.menu import read_line, run_menu
from wirebench.cli.client.show import require, require_timed, show_items, show_json, show_reply
from wirebench.cli.client.timed import format_ms, time_call
from wirebench.cli.options import CaCert, Cert, Json, Key, environment_address, given_tls, help_without_command
from wirebench.clients import Client
from wirebench.errors import UsageError
from wirebench.tls import ClientTls

_PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}

Host = Annotated[str | None, typer.Option("--host", help="Host of the service; default: 127.0.0.1.")]
Port = Annotated[int | None, typer.Option("--port", min=1, max=65_535, help="Port of the service, if not its default.")]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Both in one; https:// before it: TLS. Default: WIREBENCH_REST, WIREBENCH_GRPC or WIREBENCH_SOCKET.",
    ),
]
Timeout = Annotated[float, typer.Option("--timeout-s", min=0.01, max=3600, help="How long to wait for the service.")]
Demo = Annotated[bool, typer.Option("--demo", help="Create, list, fetch, update and delete three users.")]
Message = Annotated[str | None, typer.Option("--message", metavar="TEXT", help="Have this text upper-cased.")]
Interactive = Annotated[
    bool,
    typer.Option("--interactive", help="Ask what to do (socket: read lines, upper-case each); the default."),
]
UserId = Annotated[int, typer.Argument(help="Id of the user.", metavar="ID")]
NewId = Annotated[int, typer.Option("--id", help="Id of the user, greater than 0.")]
Name = Annotated[str | None, typer.Option("--name")]
Email = Annotated[str | None, typer.Option("--email")]
Phone = Annotated[str | None, typer.Option("--phone")]
PostalAddress = Annotated[str | None, typer.Option("--address")]
Bio = Annotated[str | None, typer.Option("--bio")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="May be given several times.")]
Limit = Annotated[int, typer.Option("--limit", help="At most this many; 0 means all.")]
AccountId = Annotated[int, typer.Argument(help="Id of the account, 1 to 10000.", metavar="ID")]
Since = Annotated[int | None, typer.Option("--since", help="Only those of this Unix second or later.")]
RateLimit = Annotated[int | None, typer.Option("--rate-limit", help="At most so many a second.")]
StreamLimit = Annotated[int | None, typer.Option("--limit", help="At most this many; without it, all.")]
AfterId = Annotated[int, typer.Option("--after-id", help="Only users with a greater id.")]


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to connect to."""

    transport: str
    address: str
    timeout_s: float
    tls: ClientTls | None

    def open(self) -> Client:
        """Connect. Raises ClientError."""
        return clients.connect(self.transport, self.address, self.timeout_s, tls=self.tls)

    def show_stream(self, operation: str, fields: dict[str, object], *, json: bool) -> None:
        """Show the items of a stream as they come. Raises WirebenchError if the service refuses it or fails."""
        with self.open() as client, client.stream(operation, fields) as items:
            show_items(items, json=json)
            if items.reply:
                require(items.reply)

    def call_once(self, operation: str, fields: dict[str, object], *, json: bool) -> None:
        """Make one call and show the reply. Raises WirebenchError if the service refuses it or fails."""
        with self.open() as client:
            timed = time_call(client, operation, fields)
        require_timed(timed)
        if json:
            show_json(timed)
        else:
            show_reply(Console(), timed)


def _address(transport: str, host: str | None, port: int | None, address: str | None) -> str:
    """Return where to connect to: as flags say, else as the environment says, else on this machine."""
    if address and (host or port):
        raise UsageError("--address excludes --host and --port", "give --address HOST:PORT alone")
    if not (host or port):
        address = address or environment_address(transport)
    named_host = f"[{host}]" if host and ":" in host else host or "127.0.0.1"
    return address or f"{named_host}:{port or _PORTS[transport]}"


def _get(context: typer.Context, user_id: UserId, *, json: Json = False) -> None:
    """Get one user."""
    context.obj.call_once("users.get", {"id": user_id}, json=json)


def _list(context: typer.Context, *, limit: Limit = 10, after_id: AfterId = 0, json: Json = False) -> None:
    """List users in the order of their ids."""
    context.obj.call_once("users.list", {"limit": limit, "after_id": after_id}, json=json)


def _create(  # noqa: PLR0913 - an option is an argument
    context: typer.Context,
    *,
    user_id: NewId,
    name: Name = None,
    email: Email = None,
    phone: Phone = None,
    address: PostalAddress = None,
    bio: Bio = None,
    tags: Tags = None,
    json: Json = False,
) -> None:
    """Create one user."""
    fields = _given(name=name, email=email, phone=phone, address=address, bio=bio, tags=tags)
    context.obj.call_once("users.create", {"user": {"id": user_id, **fields}}, json=json)


def _update(  # noqa: PLR0913
    context: typer.Context,
    user_id: UserId,
    *,
    name: Name = None,
    email: Email = None,
    phone: Phone = None,
    address: PostalAddress = None,
    bio: Bio = None,
    tags: Tags = None,
    json: Json = False,
) -> None:
    """Change the fields that are given of one user."""
    fields = _given(name=name, email=email, phone=phone, address=address, bio=bio, tags=tags)
    context.obj.call_once("users.update", {"id": user_id, **fields}, json=json)


def _delete(context: typer.Context, user_id: UserId, *, json: Json = False) -> None:
    """Delete one user and show it as it was."""
    context.obj.call_once("users.delete", {"id": user_id}, json=json)


def _balance(context: typer.Context, account_id: AccountId, *, json: Json = False) -> None:
    """Get what an account holds."""
    context.obj.call_once("ledger.get_balance", {"account_id": account_id}, json=json)


def _transactions(
    context: typer.Context,
    *,
    since: Since = None,
    rate_limit: RateLimit = None,
    limit: StreamLimit = None,
    json: Json = False,
) -> None:
    """Stream transactions, as they come; Ctrl-C cancels. With --json, one a line."""
    wanted: dict[str, int | None] = {"since": since, "rate_limit": rate_limit, "limit": limit}
    fields: dict[str, object] = {name: value for name, value in wanted.items() if value is not None}
    context.obj.show_stream("ledger.stream_transactions", fields, json=json)


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}


def _converse(connection: Connection, message: str | None, *, demo: bool) -> None:
    """Do what is done without a command."""
    console = Console()
    with connection.open() as client:
        if message is not None:
            _upper(client, message)
        elif demo:
            run_demo(client, console)
        elif connection.transport == "socket":
            _upper_lines(client)
        else:
            run_menu(client, console, f"{connection.transport} at {connection.address}")


def _upper(client: Client, text: str) -> None:
    """Print what comes back; its response time goes to stderr, so that stdout is the text alone."""
    timed = time_call(client, "echo.upper", {"text": text})
    sys.stdout.write(f"{require_timed(timed)['text']}\n")
    sys.stdout.flush()
    sys.stderr.write(f"{format_ms(timed.response_time_ms)}\n")


def _upper_lines(client: Client) -> None:
    prompt = "> " if sys.stdin.isatty() else ""
    try:
        while True:
            line = read_line(prompt)
            if line:
                _upper(client, line)
            else:
                sys.stdout.write("\n")
    except EOFError:
        sys.stdout.write("\n" if prompt else "")


def _make_group(transport: str, name: str) -> typer.Typer:
    """Return the commands of a transport: the same for all, but for where its service listens by default."""

    def connect(  # noqa: PLR0913 - an option is an argument
        context: typer.Context,
        *,
        host: Host = None,
        port: Port = None,
        address: Address = None,
        timeout_s: Timeout = 5.0,
        cacert: CaCert = None,
        cert: Cert = None,
        key: Key = None,
        message: Message = None,
        demo: Demo = False,
        interactive: Interactive = False,
    ) -> None:
        asked = (message is not None, demo, interactive, context.invoked_subcommand is not None)
        if sum(asked) > 1:
            raise UsageError("--message, --demo, --interactive and a command exclude each other", "give one of them")
        if message == "":
            raise UsageError("--message: the text is empty", "give a text; `--interactive` takes empty lines, too")
        where = _address(transport, host, port, address)
        context.obj = Connection(transport, where, timeout_s, given_tls(cacert, cert, key))
        if context.invoked_subcommand is None:
            _converse(context.obj, message, demo=demo)

    group = typer.Typer(invoke_without_command=True, callback=connect, help=f"Talk to the {name} service.")
    for command in (_create, _get, _list, _update, _delete, _balance, _transactions):
        group.command(command.__name__.removeprefix("_"))(command)
    return group


app = typer.Typer(
    help="Talk to a service: one call, an interactive menu, or a demo. Shows the response time of each call; "
    "over REST and gRPC, that of the first call includes connecting.",
    callback=help_without_command,
    invoke_without_command=True,
)
for _transport, _name in {"rest": "REST", "grpc": "gRPC", "socket": "socket"}.items():
    app.add_typer(_make_group(_transport, _name), name=_transport)
