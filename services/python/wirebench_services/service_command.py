"""Runs the command line of a stock server as a child process, and serves the admin port until a signal or its end."""

import contextlib
import ctypes
import functools
import os
import resource
import shlex
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import psutil

from wirebench_services import tls
from wirebench_services.admin import NotReadyError, check_postgres, is_ready, serve_admin
from wirebench_services.settings import SETTINGS, RestSettings, Settings, SettingsError, format_address, read_settings

_POLL_S = 0.05
#: What a server may take to end after its own drain timeout.
_STOP_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1


def run(transport: str, arguments: list[str]) -> int:
    """Run a service until SIGTERM or Ctrl-C; return the exit status."""
    try:
        settings = choose_ports(read_settings(SETTINGS[transport], arguments))
        tls.make_context(settings)
        if settings.store == "postgres":
            check_postgres(settings)
    except (SettingsError, NotReadyError, OSError) as error:
        print(f"wirebench-{transport}: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingsError) else 1
    # The soft limit is often 1,024 files, and each connection is one.
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # By default grpcio logs each TLS handshake that fails.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    with tempfile.TemporaryDirectory(prefix=f"wirebench-{transport}-", ignore_cleanup_errors=True) as folder:
        return serve(settings, Path(folder))


def choose_ports(settings: Settings) -> Settings:
    """Check that both ports are free, and replace 0 by a free port. Raises OSError."""
    chosen = {}
    with contextlib.ExitStack() as stack:
        for name in ("port", "admin_port"):
            port = getattr(settings, name)
            probe = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET))
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.host, port))
            except OSError as error:
                flag, address = f"--{name.replace('_', '-')}", format_address(settings.host, port)
                raise OSError(f"can't listen on {address}: {error.strerror}; choose another {flag} or --host") from None
            chosen[name] = probe.getsockname()[1]
    return settings.model_copy(update=chosen)


def make_server_command(settings: Settings) -> list[str]:
    binaries = Path(sys.executable).parent
    if not isinstance(settings, RestSettings):
        return [sys.executable, "-m", f"wirebench_services.{settings.transport}.{settings.runtime}_server"]
    if settings.runtime == "gunicorn-gthread":
        configuration = Path(__file__).parent / "rest" / "gunicorn.conf.py"
        application = "wirebench_services.rest.flask_app:create_app()"
        return [str(binaries / "gunicorn"), "--config", str(configuration), application]
    flags: dict[str, object] = {
        "factory": None,  # None is a flag without a value
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "loop": "uvloop",
        "http": "httptools",
        "log-level": "warning",
        "no-access-log": None,
        "timeout-keep-alive": max(1, round(settings.idle_timeout_s)),
        "timeout-graceful-shutdown": round(settings.drain_timeout_s),
    }
    if settings.tls_cert:
        flags |= {"ssl-certfile": settings.tls_cert, "ssl-keyfile": settings.tls_key}
    written = (f"--{name}" if value is None else f"--{name}={value}" for name, value in flags.items())
    return [str(binaries / "uvicorn"), "wirebench_services.rest.starlette_app:create_app", *written]


def serve(settings: Settings, folder: Path) -> int:
    """Run the server and the admin port until a signal or the server's end; return the exit status."""
    log = functools.partial(print, f"wirebench-{settings.transport}:", file=sys.stderr, flush=True)
    received: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: received.append(number))
    metrics_folder = folder / "metrics"
    metrics_folder.mkdir()
    environment = settings.to_environment() | {"PROMETHEUS_MULTIPROC_DIR": str(metrics_folder)}
    command = make_server_command(settings)
    log("server:", *(f"{name}={shlex.quote(value)}" for name, value in environment.items()), shlex.join(command))
    # In a process group of its own, the server gets no Ctrl-C, and its workers can be found when it has died.
    server = psutil.Popen(command, env=os.environ | environment, preexec_fn=end_with_parent, process_group=0)
    ready = False
    with serve_admin(settings, metrics_folder):
        try:
            while not received:
                if (status := server.poll()) is not None:
                    log(f"the server ended with status {status}; the service stops")
                    return 1
                if not ready and (ready := is_ready(settings)):
                    log(describe(settings))
                time.sleep(_POLL_S)
            log("stopping: requests in flight are finished")
            return 0
        finally:
            if not stop(server, settings.drain_timeout_s + _STOP_GRACE_S):
                log("the server did not stop in time and was killed")


def describe(settings: Settings) -> str:
    workers = f"{settings.workers} worker{'s' if settings.workers > 1 else ''}"
    security = ", TLS" if settings.tls_cert else ""
    address, admin = (format_address(settings.host, port) for port in (settings.port, settings.admin_port))
    return f"listening on {address} ({settings.runtime}, {workers}, store {settings.store}{security}); admin on {admin}"


def stop(server: psutil.Popen, timeout_s: float) -> bool:
    """Stop the server, if it runs. Return whether it did in time. What is left of its processes is killed."""
    alive: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        processes = [server, *server.children(recursive=True)]
        server.terminate()
        _, alive = psutil.wait_procs(processes, timeout_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    psutil.wait_procs(alive, _STOP_GRACE_S)
    return not alive


def end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent dies, however it dies; Linux only."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
