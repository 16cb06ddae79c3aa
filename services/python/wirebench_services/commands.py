"""The commands `wirebench-rest`, `wirebench-grpc` and `wirebench-socket`.

Each prints the two commands that it runs, the server's and the exporter's, runs them until it is told to stop, and
ends both if one of them dies. Either can be pasted into a shell.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from wirebench_services import tls
from wirebench_services.settings import (
    STORE_URL,
    GrpcSettings,
    RestSettings,
    Settings,
    SettingsError,
    SocketSettings,
    read_settings,
)

_FOLDER = Path(__file__).parent
_POLL_S = 0.05
#: What a server may take to end after its own drain timeout.
_STOP_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


def rest() -> None:
    """Run `wirebench-rest`."""
    sys.exit(run(RestSettings, sys.argv[1:]))


def grpc() -> None:
    """Run `wirebench-grpc`."""
    sys.exit(run(GrpcSettings, sys.argv[1:]))


def socket_() -> None:
    """Run `wirebench-socket`."""
    sys.exit(run(SocketSettings, sys.argv[1:]))


def run(kind: type[Settings], arguments: list[str]) -> int:
    """Run a service until SIGTERM or Ctrl-C; return the exit status."""
    try:
        settings = choose_ports(read_settings(kind, arguments))
        tls.make_context(settings)
    except SettingsError as error:
        print(f"{kind.program}: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{kind.program}: error: {error}; choose another with --host, --port, --admin-port", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix=f"{kind.program}-", ignore_cleanup_errors=True) as folder:
        environment = make_environment(settings, Path(folder))
        exporter = [sys.executable, "-m", "wirebench_services.exporter", settings.transport, "--pid", str(os.getpid())]
        commands = {"server": make_server_command(settings), "exporter": exporter}
        return Service(settings, environment, commands).run()


def choose_ports(settings: Settings) -> Settings:
    """Check that both ports are free, and replace 0 by a free port. Raises OSError."""
    update = {}
    for name, port in (("port", settings.port), ("admin_port", settings.admin)):
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, 0 if settings.port == 0 and not settings.admin_port else port))
            except OSError as error:
                raise OSError(f"can't listen on {settings.host}:{port}: {error.strerror}") from None
            update[name] = probe.getsockname()[1]
    return settings.model_copy(update=update)


def make_environment(settings: Settings, folder: Path) -> dict[str, str]:
    """Return the environment variables that the server and its exporter need besides those of this process."""
    environment = settings.to_environment()
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(folder / "metrics")
    if settings.store == "sqlite":
        environment["WIREBENCH_STORE"] = f"sqlite:{folder / 'users.sqlite'}"
    (folder / "metrics").mkdir()  # the exporter may start before the first worker
    if settings.store == "postgres" and settings.store_url_file is None:
        # Printed commands name the file of a secret, never the secret.
        file = folder / "store-url"
        file.touch(mode=0o600)
        file.write_text(settings.store_url)
        environment["WIREBENCH_STORE_URL_FILE"] = str(file)
    return environment


def make_server_command(settings: Settings) -> list[str]:
    """Return the command line of the server."""
    binaries = Path(sys.executable).parent
    match settings.runtime:
        case "gunicorn-gthread" | "gunicorn-sync":
            configuration = str(_FOLDER / "rest" / "gunicorn.conf.py")
            application = "wirebench_services.rest.flask_app:create_app()"
            return [str(binaries / "gunicorn"), "--config", configuration, application]
        case "uvicorn":
            return [str(binaries / "uvicorn"), *_make_uvicorn_flags(settings)]
        case runtime:
            return [sys.executable, "-m", f"wirebench_services.{settings.transport}.{runtime}_server"]


def _make_uvicorn_flags(settings: Settings) -> list[str]:
    assert isinstance(settings, RestSettings)  # noqa: S101 - no other settings have this runtime
    flags = {
        "--host": settings.host,
        "--port": settings.port,
        "--workers": settings.workers,
        "--loop": "uvloop",
        "--http": "httptools",
        "--timeout-keep-alive": round(settings.idle_timeout_s),
        "--timeout-graceful-shutdown": round(settings.drain_timeout_s),
        "--ssl-certfile": settings.tls_cert,
        "--ssl-keyfile": settings.tls_key,
        "--ssl-ca-certs": settings.tls_client_ca,
        "--ssl-cert-reqs": 2 if settings.tls_client_ca else None,  # ssl.CERT_REQUIRED
        "--log-level": "warning",
    }
    given = [str(part) for flag, value in flags.items() if value is not None for part in (flag, value)]
    return ["wirebench_services.rest.starlette_app:create_app", "--factory", "--no-access-log", *given]


class Service:
    """A server and its exporter."""

    def __init__(self, settings: Settings, environment: dict[str, str], commands: dict[str, list[str]]) -> None:
        self._settings = settings
        self._environment = environment
        self._commands = commands
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._stopping = False

    def run(self) -> int:
        """Start both, wait for a signal or the end of either, and stop both. Return the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_stop)
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self._environment.items())
        inherited = {name: value for name, value in os.environ.items() if name != STORE_URL}
        try:
            for name, command in self._commands.items():
                self._log(f"{name}: {variables} {shlex.join(command)}")
                self._processes[name] = subprocess.Popen(
                    command,
                    env=inherited | self._environment,
                    preexec_fn=_end_with_parent,  # noqa: PLW1509
                )
            return self._watch()
        finally:
            self._stop()

    def _watch(self) -> int:
        ready = False
        while not self._stopping:
            for name, process in self._processes.items():
                if (status := process.poll()) is not None:
                    self._log(f"the {name} ended with status {status}; the service stops")
                    return 1
            if not ready and (ready := self._is_ready()):
                workers = f"{self._settings.workers} worker{'s' if self._settings.workers > 1 else ''}"
                tls_ = ", mutual TLS" if self._settings.tls_client_ca else ", TLS" if self._settings.tls_cert else ""
                host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
                self._log(
                    f"listening on {host}:{self._settings.port} ({self._settings.runtime}, {workers}, "
                    f"store {self._settings.store}{tls_}); admin on {host}:{self._settings.admin}"
                )
            time.sleep(_POLL_S)
        self._log("stopping: requests in flight are finished")
        return 0

    def _is_ready(self) -> bool:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._settings.host, self._settings.host)  # noqa: S104
        connection = http.client.HTTPConnection(host, self._settings.admin, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        return False

    def _request_stop(self, *_: object) -> None:
        self._stopping = True

    def _stop(self) -> None:
        """Stop the server, then the exporter; whatever is left after the drain timeout is killed."""
        timeouts_s = {"server": self._settings.drain_timeout_s + _STOP_GRACE_S, "exporter": _STOP_GRACE_S}
        for name, process in self._processes.items():
            descendants = [] if process.poll() is not None else psutil.Process(process.pid).children(recursive=True)
            process.terminate()
            try:
                process.wait(timeouts_s[name])
            except subprocess.TimeoutExpired:
                self._log(f"the {name} did not stop in time and is killed")
                process.kill()
                process.wait()
            for each in descendants:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()

    def _log(self, message: str) -> None:
        print(f"{self._settings.program}: {message}", file=sys.stderr, flush=True)


def _end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent dies, however it dies; Linux only."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    {"rest": rest, "grpc": grpc, "socket": socket_}[sys.argv.pop(1)]()
