"""Runs the command line of a stock server as a child process, and serves the admin port until a signal or its end."""

import contextlib
import ctypes
import functools
import os
import queue
import resource
import shlex
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psutil

from wirebench_services import format_address, tls
from wirebench_services.admin import NOT_READY, NotReadyError, check_postgres, forget_dead_workers, serve_admin
from wirebench_services.settings import SETTINGS, STOP_SIGNALS, RestSettings, Settings, SettingsError, read_settings

_POLL_S = 0.05
_IDLE_POLL_S = 1.0
#: What a server may take to end after its own drain timeout.
_STOP_GRACE_S = 5.0
_PR_SET_PDEATHSIG = 1
#: gunicorn waits as long for its workers.
_HEALTH_CHECK_TIMEOUT_S = 30
#: Held until this process ends: with several workers, two services that start at once would share a port.
_PORT_LOCKS: list[socket.socket] = []


def run(transport: str, arguments: list[str]) -> int:
    """Run a service until SIGTERM or Ctrl-C; return the exit status."""
    try:
        settings = read_settings(SETTINGS[transport], arguments)
        tls.make_context(settings)
        settings = choose_ports(settings)
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
    """Check that both ports are free, and replace 0 by a free one, and :: where there is no IPv6. Raises OSError."""
    host = "0.0.0.0" if settings.host == "::" and not socket.has_dualstack_ipv6() else settings.host  # noqa: S104
    chosen: dict[str, object] = {"host": host}
    with contextlib.ExitStack() as stack:
        for name in ("port", "admin_port"):
            port = getattr(settings, name)
            try:
                chosen[name] = _take_port(stack, host, port)
            except OSError as error:
                flag, address = f"--{name.replace('_', '-')}", format_address(host, port)
                raise OSError(f"can't listen on {address}: {error.strerror}; choose another {flag} or --host") from None
    return settings.model_copy(update=chosen)


def _take_port(stack: contextlib.ExitStack, host: str, port: int, attempts: int = 10) -> int:
    probe = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET))
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind((host, port))
    if sys.platform == "linux":  # a name in the abstract namespace: one process can have it
        _PORT_LOCKS.append(socket.socket(socket.AF_UNIX))
        try:
            _PORT_LOCKS[-1].bind(f"\0wirebench {host} {probe.getsockname()[1]}")
        except OSError:  # another service has chosen the same, and doesn't listen there yet
            if port or attempts == 1:
                raise
            return _take_port(stack, host, port, attempts - 1)
    return int(probe.getsockname()[1])


def make_server_command(settings: Settings) -> list[str]:
    """Return the command of a server: of all its workers for REST, of one worker for the others."""
    if not isinstance(settings, RestSettings):
        return [sys.executable, "-m", f"wirebench_services.{settings.transport}.{settings.runtime}_server"]
    flags: dict[str, object] = {"workers": settings.workers, "log-level": "warning"}
    # Load generators keep connections and may pause longer than servers wait by default, as proxies do.
    idle_timeout_s = max(1, round(settings.idle_timeout_s))
    if settings.runtime == "gunicorn-gthread":
        # The control socket is one file for all services of a user by default, and nothing here uses it.
        command = ["gunicorn", "wirebench_services.rest.flask_app:create_app()", "--no-control-socket"]
        flags |= {
            "bind": format_address(settings.host, settings.port),
            "worker-class": "gthread",
            "threads": settings.threads,
            "keep-alive": idle_timeout_s,
            "graceful-timeout": max(1, round(settings.drain_timeout_s)),
        }
        tls_flags = ("certfile", "keyfile")
    else:
        command = ["uvicorn", "wirebench_services.rest.starlette_app:create_app", "--factory", "--no-access-log"]
        flags |= {
            "host": "" if settings.host == "::" and settings.workers == 1 else settings.host,  # :: would be IPv6 alone
            "port": settings.port,
            "loop": "uvloop",
            "http": "httptools",
            "timeout-keep-alive": idle_timeout_s,
            "timeout-graceful-shutdown": round(settings.drain_timeout_s),
            "timeout-worker-healthcheck": _HEALTH_CHECK_TIMEOUT_S,
        }
        tls_flags = ("ssl-certfile", "ssl-keyfile")
    if settings.tls_cert:
        flags |= zip(tls_flags, (settings.tls_cert, settings.tls_key), strict=True)
    command[0] = str(Path(sys.executable).with_name(command[0]))
    return [*command, *(f"--{name}={value}" for name, value in flags.items())]


def _wait_for_item(of: queue.SimpleQueue[int], timeout_s: float) -> bool:
    try:
        of.get(timeout=timeout_s)
    except queue.Empty:
        return False
    return True


def serve(settings: Settings, folder: Path) -> int:
    """Run the server and the admin port until a signal or the server's end; return the exit status."""
    log = functools.partial(print, f"wirebench-{settings.transport}:", file=sys.stderr, flush=True)
    received = queue.SimpleQueue[int]()  # whose put may interrupt a get, as a handler does; an Event would deadlock
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, _: received.put(number))
    environment = settings.to_environment() | {"PROMETHEUS_MULTIPROC_DIR": str(folder)}
    command = make_server_command(settings)
    log("server:", *(f"{name}={shlex.quote(value)}" for name, value in environment.items()), shlex.join(command))
    # In process groups of their own, servers get no Ctrl-C, and their workers can be found when they have died.
    servers = [
        psutil.Popen(command, env=os.environ | environment, preexec_fn=end_with_parent, process_group=0)
        for _ in range(1 if settings.transport == "rest" else settings.workers)
    ]
    is_ready = False
    with serve_admin(settings, folder) as check_ready:
        try:
            # At the shorter interval, fifteen idle services take a tenth of a core from the one that is measured.
            while not _wait_for_item(received, _IDLE_POLL_S if is_ready else _POLL_S):
                for server in servers:
                    if (status := server.poll()) is not None:
                        log(f"process {server.pid} of the server ended with status {status}; the service stops")
                        return 1
                for pid in forget_dead_workers(folder, [server.pid for server in servers]):
                    log(f"worker {pid} has died")
                if not is_ready:
                    with contextlib.suppress(*NOT_READY):
                        check_ready()
                        is_ready = True
                        log(describe(settings))
            log("stopping: requests in flight are finished")
            return 0
        finally:
            if not stop(servers, settings.drain_timeout_s + _STOP_GRACE_S):
                log("the server did not stop in time and was killed")


def describe(settings: Settings) -> str:
    workers = f"{settings.workers} worker{'s' if settings.workers > 1 else ''}"
    security = ", TLS" if settings.tls_cert else ""
    address, admin = (format_address(settings.host, port) for port in (settings.port, settings.admin_port))
    return f"listening on {address} ({settings.runtime}, {workers}, store {settings.store}{security}); admin on {admin}"


def stop(servers: Sequence[psutil.Popen], timeout_s: float) -> bool:
    """Stop the servers that run. Return whether all did in time. What is left of their processes is killed."""
    processes: list[psutil.Process] = []
    for server in servers:
        with contextlib.suppress(psutil.NoSuchProcess):
            processes += [server, *server.children(recursive=True)]
            server.terminate()
    _, alive = psutil.wait_procs(processes, timeout_s)
    for server in servers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
    psutil.wait_procs(alive, _STOP_GRACE_S)
    return not alive


def end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent dies, however it dies; Linux only."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
