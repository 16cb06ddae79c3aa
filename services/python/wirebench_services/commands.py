"""The commands `wirebench-rest`, `wirebench-grpc` and `wirebench-socket`.

Each prints the two commands that it runs, the server's and the exporter's, and runs them until it is told to stop or
one of them ends. Both work when they are pasted into a shell.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import http.client
import os
import resource
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from wirebench_services import tls
from wirebench_services.probes import NotReadyError, check_postgres, local_host
from wirebench_services.settings import SETTINGS, RestSettings, Settings, SettingsError, format_address, read_settings

_POLL_S = 0.05
#: What a server may take to end after its own drain timeout.
_STOP_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


def main(transport: str) -> None:
    sys.exit(run(transport, sys.argv[1:]))


rest, grpc, socket_ = (functools.partial(main, transport) for transport in ("rest", "grpc", "socket"))


def run(transport: str, arguments: list[str]) -> int:
    """Run a service until SIGTERM or Ctrl-C; return the exit status."""
    try:
        settings = choose_ports(read_settings(SETTINGS[transport], arguments))
        tls.make_context(settings)
        if settings.store == "postgres":
            check_postgres(settings.store_url)
    except (SettingsError, NotReadyError, OSError) as error:
        print(f"wirebench-{transport}: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingsError) else 1
    with tempfile.TemporaryDirectory(prefix=f"{settings.program}-", ignore_cleanup_errors=True) as folder:
        return Service(settings, make_environment(settings, Path(folder))).run()


def choose_ports(settings: Settings) -> Settings:
    """Check that both ports are free, and replace 0 by a free port. Raises OSError."""
    with contextlib.ExitStack() as stack:
        update = {}
        for name in ("port", "admin_port"):
            port = getattr(settings, name)
            probe = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET))
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, port))
            except OSError as error:
                flag = f"--{name.replace('_', '-')}"
                address = format_address(settings.host, port)
                message = f"can't listen on {address}: {error.strerror}; choose another {flag} or --host"
                raise OSError(message) from None
            update[name] = probe.getsockname()[1]
        return settings.model_copy(update=update)


def make_environment(settings: Settings, folder: Path) -> dict[str, str]:
    """Return the environment variables of the server and its exporter, besides those of this process."""
    environment = settings.to_environment() | {"PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics")}
    if settings.store == "sqlite":
        environment["WIREBENCH_STORE"] = f"sqlite:{folder / 'users.sqlite'}"
    (folder / "metrics").mkdir()  # the exporter may start before the first worker
    if settings.transport == "grpc":
        # By default grpcio logs each TLS handshake that fails.
        environment["GRPC_VERBOSITY"] = os.environ.get("GRPC_VERBOSITY", "ERROR")
    if settings.store == "postgres" and settings.store_url_file is None:
        # Printed commands name the file of a secret, never the secret.
        file = folder / "store-url"
        file.touch(mode=0o600)
        file.write_text(settings.store_url)
        environment["WIREBENCH_STORE_URL_FILE"] = str(file)
    return environment


def make_server_command(settings: Settings) -> list[str]:
    binaries = Path(sys.executable).parent
    if not isinstance(settings, RestSettings):
        return [sys.executable, "-m", f"wirebench_services.{settings.transport}.{settings.runtime}_server"]
    if settings.runtime != "uvicorn":
        configuration = Path(__file__).parent / "rest" / "gunicorn.conf.py"
        application = "wirebench_services.rest.flask_app:create_app()"
        return [str(binaries / "gunicorn"), "--config", str(configuration), application]
    flags = {
        "--host": settings.host,
        "--port": settings.port,
        "--workers": settings.workers,
        "--loop": "uvloop",
        "--http": "httptools",
        "--log-level": "warning",
        "--timeout-keep-alive": round(settings.idle_timeout_s),
        "--timeout-graceful-shutdown": round(settings.drain_timeout_s),
        "--ssl-certfile": settings.tls_cert,
        "--ssl-keyfile": settings.tls_key,
        "--ssl-ca-certs": settings.tls_client_ca,
        "--ssl-cert-reqs": int(ssl.CERT_REQUIRED) if settings.tls_client_ca else None,
    }
    given = [str(part) for flag, value in flags.items() if value is not None for part in (flag, value)]
    application = "wirebench_services.rest.starlette_app:create_app"
    return [str(binaries / "uvicorn"), application, "--factory", "--no-access-log", *given]


class Service:
    """A server and its exporter."""

    def __init__(self, settings: Settings, environment: dict[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._stopping = False

    def run(self) -> int:
        """Start both, wait for a signal or the end of either, and stop both. Return the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_stop)
        # The soft limit is often 1,024 files, and each connection is one.
        hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
        try:
            self._start("server", make_server_command(self._settings))
            exporter = [sys.executable, "-m", "wirebench_services.exporter", self._settings.transport]
            self._start("exporter", [*exporter, "--pid", str(os.getpid())])
            return self._watch()
        finally:
            self._stop("server", self._settings.drain_timeout_s + _STOP_GRACE_S)
            self._stop("exporter", _STOP_GRACE_S)

    def _start(self, name: str, command: list[str]) -> None:
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self._environment.items())
        self._log(f"{name}: {variables} {shlex.join(command)}")
        environment = os.environ | self._environment
        environment.pop("WIREBENCH_STORE_URL", None)
        self._processes[name] = subprocess.Popen(command, env=environment, preexec_fn=_end_with_parent)  # noqa: PLW1509

    def _watch(self) -> int:
        ready = False
        while not self._stopping:
            for name, process in self._processes.items():
                if (status := process.poll()) is not None:
                    self._log(f"the {name} ended with status {status}; the service stops")
                    return 1
            if not ready and (ready := self._is_ready()):
                self._announce()
            time.sleep(_POLL_S)
        self._log("stopping: requests in flight are finished")
        return 0

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(local_host(self._settings), self._settings.admin_port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        return False

    def _announce(self) -> None:
        settings = self._settings
        workers = f"{settings.workers} worker{'s' if settings.workers > 1 else ''}"
        security = ", mutual TLS" if settings.tls_client_ca else ", TLS" if settings.tls_cert else ""
        server = f"{settings.runtime}, {workers}, store {settings.store}{security}"
        address, admin = (format_address(settings.host, port) for port in (settings.port, settings.admin_port))
        self._log(f"listening on {address} ({server}); admin on {admin}")

    def _request_stop(self, *_: object) -> None:
        self._stopping = True

    def _stop(self, name: str, timeout_s: float) -> None:
        """Stop a process that runs; what is left of it and its descendants after the timeout is killed."""
        process = self._processes.get(name)
        if process is None:
            return
        descendants = [] if process.poll() is not None else psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._log(f"the {name} did not stop in {timeout_s:.0f} s and is killed")
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
    main(sys.argv.pop(1))
