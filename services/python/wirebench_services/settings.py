"""The settings of a service: command-line flags, and environment variables of the same names."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, CliApp, CliPositionalArg, SettingsConfigDict

if TYPE_CHECKING:  # a process loads only what it runs
    from sqlalchemy import URL

ENVIRONMENT_PREFIX = "WIREBENCH_"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PORT_MAX = 65_535
Port = Annotated[int, Field(ge=0, le=_PORT_MAX, description="port of the service; 0 chooses a free one")]
Threads = Annotated[int, Field(ge=1, le=1024, description="threads of each worker, in gunicorn-gthread and grpc sync")]
Timeout = Annotated[float, Field(ge=0.1, le=3600)]


class SettingsError(Exception):
    """An invalid setting; the message is one line and names the flag."""


class Settings(BaseSettings):
    """How a service runs. A flag wins over its environment variable, which wins over the default."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        cli_kebab_case=True,
        cli_hide_none_type=True,
        cli_parse_none_str="none",
        use_attribute_docstrings=True,
    )
    transport: ClassVar[str]

    host: str = Field(default="127.0.0.1", min_length=1)
    """address to listen on"""
    port: Port
    admin_port: int | None = Field(default=None, ge=0, le=_PORT_MAX)
    """port of /livez, /readyz and /metrics; default: port + 1000"""
    runtime: str
    workers: int = Field(default=1, ge=1, le=64)
    """server processes"""
    store: Literal["memory", "postgres"] = "memory"
    """where users and the ledger are kept; each worker has its own memory"""
    store_url_file: Path | None = None
    """file with the URL of postgres; without it, the environment variable WIREBENCH_STORE_URL has the URL"""
    store_connections: int = Field(default=10, ge=1, le=1000)
    """connections that each worker may have to postgres"""
    store_timeout_s: Timeout = 5.0
    """how long a request may wait for a connection to postgres, and a statement may take"""
    seed_users: int = Field(default=10_000, ge=0, le=1_000_000)
    """users that a new store starts with; 0 is an empty store"""
    tls_cert: Path | None = None
    """PEM file of a certificate and its chain: the service speaks TLS; the admin port stays plain HTTP"""
    tls_key: Path | None = None
    """PEM file of the certificate's private key, not encrypted"""
    drain_timeout_s: float = Field(default=10.0, ge=0, le=3600)
    """how long requests in flight may take to finish after SIGTERM"""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.admin_port is None:
            self.admin_port = self.port + 1000 if self.port else 0
        if self.admin_port > _PORT_MAX:
            raise ValueError(f"--admin-port: {self.admin_port} is over {_PORT_MAX}; name a free port")
        if self.admin_port == self.port != 0:
            raise ValueError("--admin-port: must differ from --port")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("--tls-cert and --tls-key: name both, or none of them for plain text")
        if self.store == "postgres":
            read_store_url(self.store_url_file)
        return self

    def to_environment(self) -> dict[str, str]:
        """Return the settings that were given as environment variables, for the server's own process.

        Also those that are defaults: a flag wins over the variable that the server would inherit.
        """
        values = self.model_dump(exclude_unset=True, exclude_none=True)
        return {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in values.items()}


class RestSettings(Settings):
    """Serve wirebench's application by REST."""

    transport = "rest"

    port: Port = 5000
    runtime: Literal["gunicorn-gthread", "uvicorn"] = "gunicorn-gthread"
    """the server: gunicorn with threads, or uvicorn"""
    threads: Threads = 8
    idle_timeout_s: Timeout = 75.0
    """how long a connection may stay open without a request"""


class GrpcSettings(Settings):
    """Serve wirebench's application by gRPC."""

    transport = "grpc"

    port: Port = 50051
    runtime: Literal["sync", "aio"] = "sync"
    """the server: grpc.server or grpc.aio.server"""
    threads: Threads = 10
    max_connection_age_s: float = Field(default=0.0, ge=0, le=3600)
    """how long a connection lives before its client is told to open another; 0: for ever"""


class SocketSettings(Settings):
    """Serve wirebench's application by frames on a TCP socket."""

    transport = "socket"

    port: Port = 9000
    runtime: Literal["asyncio", "threaded"] = "asyncio"
    """the server: asyncio on uvloop, or a thread for each connection"""
    read_timeout_s: Timeout = 10.0
    """how long a client may take to send a request"""
    idle_timeout_s: Timeout = 75.0
    """how long a connection may stay open without a request"""


class StoreSettings(BaseSettings):
    """Prepare a PostgreSQL database for wirebench's services."""

    model_config = Settings.model_config
    command: CliPositionalArg[Literal["migrate"]]
    """create the tables that are missing and fill them; it can be repeated"""
    store_url_file: Path | None = None
    """file with the database's URL; without it, the environment variable WIREBENCH_STORE_URL has it"""
    seed_users: int = Field(default=10_000, ge=0, le=1_000_000)
    """users that a new table starts with"""
    wait_s: float = 0.0
    """how long to wait for a server that is starting"""


SETTINGS: dict[str, type[Settings]] = {kind.transport: kind for kind in (RestSettings, GrpcSettings, SocketSettings)}


def read_settings(kind: type[BaseSettings], arguments: list[str] | None = None) -> Any:  # noqa: ANN401 - an object of `kind`
    """Read the settings from flags (None: from the environment alone). Raises SettingsError; `--help` exits."""
    try:
        return kind() if arguments is None else CliApp.run(kind, cli_args=arguments)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        flag = f"--{str(first['loc'][0]).replace('_', '-')}: " if first["loc"] else ""
        raise SettingsError(flag + message) from None


def read_store_url(file: Path | None) -> "URL":
    """Return the URL in the file, or else in the environment. Raises ValueError, which quotes nothing of the URL."""
    from psycopg import ProgrammingError, conninfo  # noqa: PLC0415 - a process loads only what it runs
    from sqlalchemy import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    variable, form = f"{ENVIRONMENT_PREFIX}STORE_URL", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    try:
        url = file.read_text().strip() if file else os.environ.get(variable, "")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"--store-url-file: can't read {file}: {reason}; name a readable file") from None
    if not url:
        message = f"the store postgres needs a URL: set {variable}={form}, or name a file with it by --store-url-file"
        raise ValueError(message)
    try:
        conninfo.conninfo_to_dict(url)  # libpq is stricter than SQLAlchemy
        parsed = make_url(url)
    except (ProgrammingError, ArgumentError, ValueError):  # may quote the password
        parsed = None
    # With an @ in it, the host is the end of a password that isn't percent-encoded, and errors name hosts.
    is_complete = parsed and parsed.database and "@" not in (parsed.host or "")
    if not parsed or not is_complete or parsed.drivername not in ("postgresql", "postgres"):
        raise ValueError(f"{file or variable}: is not a URL of the form {form}")
    return parsed.set(drivername="postgresql+psycopg")
