"""What each setting of docs/variants.md does to speed: our services against copies that have the default in its place.

It prints the cells of the column "measured effect". A ratio is ours over the default's, the median of pairs that are
measured in turn, with the smallest and the largest in brackets.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.services import REPETITIONS, measure_cpu_us
from wirebench.drivers import clients
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Transport
from wirebench.system import processes
from wirebench.system.paths import ROOT, TOOLS
from wirebench.system.ports import LOOPBACK, reserve_ports
from wirebench.system.readiness import answers_http, wait_ready
from wirebench.targets import Endpoint, Replica, divide_cores

PYTHON = ROOT / "services" / "python" / "wirebench_services"
GO = ROOT / "services" / "go"
_CORES = divide_cores()
_BUILD_TIMEOUT_S = 600.0
_CONNECTS = 500
_LATE_S = 0.5
_STREAM = {"rate_limit": 200, "limit": 200}

Measure = Callable[[Endpoint, Path], float]


def cpu_us(endpoint: Endpoint, folder: Path) -> float:
    """Return the server's CPU time of one `users.get`."""
    return measure_cpu_us(endpoint, folder, _CORES.generator)


def gap_ms(endpoint: Endpoint, _folder: Path) -> float:
    """Return the p99 of the gaps between the items of a stream whose items are due every 5 ms."""
    with contextlib.closing(clients.connect(endpoint.service.transport, endpoint.address)) as client:
        moments_s = [time.perf_counter() for _ in client.stream("ledger.stream_transactions", _STREAM)]
    gaps_s = [later - earlier for earlier, later in itertools.pairwise(moments_s)]
    return statistics.quantiles(gaps_s, n=100)[98] * 1000


def late_connects(endpoint: Endpoint, _folder: Path) -> float:
    """Open connections all at once; return how many the server's kernel has not accepted after half a second."""
    host, _, port = endpoint.address.rpartition(":")
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(_CONNECTS)]
        for each in sockets:
            each.settimeout(0)
            each.connect_ex((host, int(port)))
        time.sleep(_LATE_S)
        return float(sum(not _is_connected(each) for each in sockets))


def _is_connected(connection: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        return bool(connection.getpeername())
    return False


class Setting(NamedTuple):
    """A setting as docs/variants.md names it, and the edits of a source file that bring the default back.

    An edit is a regular expression that fits one place of the file, and what takes its place.
    """

    transport: Transport
    runtime: str
    name: str
    file: str
    edits: Mapping[str, str]
    measure: Measure = cpu_us

    @property
    def tree(self) -> Path:
        """The sources of its service."""
        return GO if self.file.endswith(".go") else PYTHON

    def restore_default(self, text: str) -> str:
        """Return the file with the default. Raises ValueError if an edit doesn't fit one place."""
        for pattern, default in self.edits.items():
            text, count = re.subn(pattern, default, text, flags=re.MULTILINE)
            if count != 1:
                raise ValueError(f"{self.file}: {pattern} fits {count} places; benchmarks/settings.py needs another")
        return text


_CONF, _FLASK, _STARLETTE = "rest/gunicorn.conf.py", "rest/flask_app.py", "rest/starlette_app.py"
_COMMANDS, _CALLS, _SYNC, _AIO = "service_command.py", "grpc/calls.py", "grpc/sync_server.py", "grpc/aio_server.py"
_ASYNCIO, _THREADED = "socket/asyncio_server.py", "socket/threaded_server.py"
_NET_HTTP, _GRPC_GO = "internal/rest/server.go", "internal/rpc/server.go"
_UVLOOP = {r"uvloop\.run\(": "asyncio.run("}
SETTINGS = (
    Setting("rest", "gunicorn-gthread", "`threads`", _CONF, {r"^threads = .*": "threads = 1"}),
    Setting("rest", "gunicorn-gthread", "`keepalive`", _CONF, {r"^keepalive = .*": "keepalive = 2"}),
    Setting("rest", "gunicorn-gthread", "`MAX_CONTENT_LENGTH`", _FLASK, {r'^ *app\.config\["MAX_CONTENT.*\n': ""}),
    Setting("rest", "uvicorn", "`--loop`", _COMMANDS, {'"uvloop"': '"asyncio"'}),
    Setting("rest", "uvicorn", "`--http`", _COMMANDS, {'"httptools"': '"h11"'}),
    Setting("rest", "uvicorn", "`--timeout-keep-alive`", _COMMANDS, {r'(timeout-keep-alive": ).*,': r"\g<1>5,"}),
    Setting("rest", "uvicorn", "`--no-access-log`", _COMMANDS, {r'^ *"no-access-log".*\n': "", '"warning"': '"info"'}),
    Setting("rest", "uvicorn", "middleware", _STARLETTE, {r"^ *middleware=.*\n": ""}),
    Setting("grpc", "sync", "thread pool", _SYNC, {r"(ThreadPoolExecutor\()settings\.threads": r"\g<1>"}),
    Setting("grpc", "sync", "`grpc.so_reuseport`", _CALLS, {r'^ *\("grpc\.so_reuseport".*\n': ""}),
    Setting("grpc", "sync", "`experimental_non_blocking=False`", _SYNC, {r"experimental_non_blocking=.*\)": ")"}),
    Setting("grpc", "aio", "event loop", _AIO, _UVLOOP),
    Setting("socket", "asyncio", "event loop uvloop", _ASYNCIO, _UVLOOP),
    Setting("socket", "asyncio", "`backlog=1024`", _ASYNCIO, {"^_BACKLOG = .*": "_BACKLOG = 100"}, late_connects),
    Setting("socket", "asyncio", "`reuse_port=True`", _ASYNCIO, {"reuse_port=True, ": ""}),
    Setting("socket", "asyncio", "without a task", _ASYNCIO, {"direct = .*": "direct = store"}),
    Setting(
        "socket", "threaded", "`request_queue_size = 1024`", _THREADED, {"^ *request_queue_size.*\n": ""}, late_connects
    ),
    Setting("socket", "threaded", "`disable_nagle_algorithm`", _THREADED, {"^.*(nagle|NODELAY).*\n": ""}, gap_ms),
    Setting("rest", "net-http", "`MaxBytesHandler`", _NET_HTTP, {r"http\.MaxBytesHandler\((.*), .*\)": r"\g<1>"}),
    Setting("rest", "net-http", "`ReadTimeout`", _NET_HTTP, {r"^\s*ReadTimeout:.*\n": "", r"^\s*IdleTimeout:.*\n": ""}),
    Setting("grpc", "grpc-go", "`MaxConnectionIdle`", _GRPC_GO, {r"grpc\.KeepaliveParams\((?s:.*?)\}\),": ""}),
    Setting("grpc", "grpc-go", "keepalive enforcement", _GRPC_GO, {r"grpc\.KeepaliveEnforcementPolicy\(.*\),": ""}),
)


def main() -> bool:
    """Measure all settings and print a row of each; there is no limit to keep."""
    print("| runtime | setting | measured effect |\n|---|---|---|")
    for setting in SETTINGS:
        print(f"| {setting.runtime} | {setting.name} | {measure_effect(setting)} |", flush=True)
    return True


def measure_effect(setting: Setting) -> str:
    """Measure our service and its copy with the default in turn; return the effect in words."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            started(setting, None, folder) as ours,
            started(setting, copy_with_default(setting, folder), folder) as other,
        ):
            pairs = [[setting.measure(each, folder) for each in (ours, other)] for _ in range(REPETITIONS)]
    if setting.measure is late_connects:
        late, late_by_default = (statistics.median(column) for column in zip(*pairs, strict=True))
        return f"{late:.0f} of {_CONNECTS} connects at once take over {_LATE_S:g} s, by default {late_by_default:.0f}"
    ratios = [mine / default for mine, default in pairs]
    what = "CPU" if setting.measure is cpu_us else "p99 gap in a stream"
    return f"{what} {statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})"


def copy_with_default(setting: Setting, folder: Path) -> Path:
    """Copy the service, bring the default back in the copy, and return the folder to import it from, or its program."""
    copy = folder / setting.tree.name
    shutil.copytree(setting.tree, copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / setting.file
    file.write_text(setting.restore_default(file.read_text(encoding="utf-8")), encoding="utf-8")
    if setting.tree == PYTHON:
        return folder
    program = folder / "wirebench-go"
    processes.run("go build", ["go", "-C", copy, "build", "-mod=readonly", "-o", program, "."], _BUILD_TIMEOUT_S)
    return program


@contextlib.contextmanager
def started(setting: Setting, copy: Path | None, folder: Path) -> Iterator[Endpoint]:
    """Start a service as it is, or from a copy, and yield where it is."""
    with reserve_ports(2) as ports:
        port, admin_port = ports
    environment = {}
    if setting.tree == GO:
        command = [copy or TOOLS / "wirebench-go", setting.transport]
    else:
        command = [Path(sys.executable).parent / f"wirebench-{setting.transport}"]
        environment = {"PYTHONPATH": str(copy)} if copy else {}
    flags = ["--port", port, "--admin-port", admin_port, "--runtime", setting.runtime]
    log = folder / f"{'default' if copy else 'ours'}.log"
    child = processes.start(setting.runtime, [*command, *map(str, flags)], log, _CORES.server, environment)
    try:
        wait_ready(child, partial(answers_http, f"{LOOPBACK}:{admin_port}", "/readyz"))
        spec = ServiceSpec(setting.transport, setting.runtime, 1, None, "memory")
        yield Endpoint(spec, f"{LOOPBACK}:{port}", (Replica(setting.transport, None, child.pid),))
    finally:
        child.stop()
