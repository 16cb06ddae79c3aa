"""What wireload sends per second, and per second of CPU time, beside wrk and h2load in the same rounds.

On one core the second is its ceiling, which the server on the other may not reach. wrk and h2load are Debian packages
(wrk, nghttp2-client).
"""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from accuracy.table import print_table
from wirebench.measure.truth import run_server
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.system import processes
from wirebench.system.paths import CONTRACT, TOOLS
from wirebench.system.ports import LOOPBACK
from wirebench.targets.cores import Cores

ROUNDS = 5
DURATION_S = 3
_WARMUP_S = 0.5
#: Transports, users, and the connections that they have or share.
LOADS: tuple[tuple[Transport, int, int], ...] = (
    ("rest", 16, 16),
    ("grpc", 16, 16),
    ("grpc", 64, 1),
    ("socket", 16, 16),
)
_PATH = "/api/users/1000001"
_CALL = "wirebench.v1.UserService/GetUser"
_DATA = '{"id": 1000001}'
#: The same in protobuf: one varint field, behind the prefix of a gRPC message.
_MESSAGE = b"\x08\xc1\x84\x3d"
_TIMEOUT_S = DURATION_S + 30.0
#: The tool beside wireload, and how it prints the number of its requests.
_OTHERS: dict[Transport, tuple[str, str]] = {
    "rest": ("wrk", r"(\d+) requests in"),
    "grpc": ("h2load", r"(\d+) succeeded"),
}


def print_ceilings(cores: Cores) -> None:
    """Measure in rounds that alternate between the tools, and print rates and ratios. Raises WirebenchError."""
    if missing := [tool for tool, _ in _OTHERS.values() if not shutil.which(tool)]:
        print(f"{' and '.join(missing)} not found: run `apt-get install wrk nghttp2-client`\n")
    rounds = [[_measure(*load, cores) for load in LOADS] for _ in range(ROUNDS)]
    rows = (_make_row(*load, rates) for load, rates in zip(LOADS, zip(*rounds, strict=True), strict=True))
    headings = ("transport", "users", "connections", "wireload, requests per CPU second", "other tool")
    print_table((*headings, "wireload / other", "requests/s, wireload / other"), rows)


def _make_row(
    transport: Transport, users: int, connections: int, rates: Sequence[tuple[_Rates, _Rates | None]]
) -> tuple[str, ...]:
    load = transport, str(users), str(connections), f"{statistics.median(own.per_cpu_s for own, _ in rates):,.0f}"
    pairs = [(own, other) for own, other in rates if other]
    if not pairs:
        return *load, "–", "–", "–"
    tool = f"{_OTHERS[transport][0]} {statistics.median(other.per_cpu_s for _, other in pairs):,.0f}"
    ratios = ([own[at] / other[at] for own, other in pairs] for at in range(2))
    return *load, tool, *(f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in ratios)


class _Rates(NamedTuple):
    per_cpu_s: float
    per_s: float


def _measure(transport: Transport, users: int, connections: int, cores: Cores) -> tuple[_Rates, _Rates | None]:
    """Return what wireload sends, and the tool beside it if it is there."""
    one = frozenset({min(cores.generator)})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with run_server(transport, ["-behaviour", "null"], cores.server, folder / "truth.log") as (port, _):
            address = f"{LOOPBACK}:{port}"
            output = folder / "histograms.json"
            _, cpu_s = _run(_make_wireload_command(transport, users, connections, address, output), folder, one)
            sent = sum(HistogramFile.read(output).requests_total.values())
            own = _Rates(sent / cpu_s, sent / (DURATION_S + _WARMUP_S))
            tool, pattern = _OTHERS.get(transport, ("", ""))
            if not tool or not shutil.which(tool):
                return own, None
            printed, cpu_s = _run(_make_command(tool, users, connections, address, folder), folder, one)
            sent = int(re.findall(pattern, printed)[0])
            return own, _Rates(sent / cpu_s, sent / DURATION_S)


def _make_wireload_command(transport: Transport, users: int, connections: int, address: str, output: Path) -> list[str]:
    requests: dict[Transport, list[str]] = {
        "rest": [f"http://{address}{_PATH}"],
        "grpc": [address, _CALL, _DATA, "--protoset", str(CONTRACT)],
        "socket": [address, "users.get", _DATA],
    }
    options = ["-c", str(users), "-d", f"{DURATION_S}s", "--warmup", f"{_WARMUP_S}s", "--output", str(output)]
    if connections < users:
        options += ["--connections", str(connections)]
    return [str(TOOLS / "wireload"), transport, *requests[transport], *options]


def _make_command(tool: str, users: int, connections: int, address: str, folder: Path) -> list[str]:
    if tool == "wrk":
        return ["wrk", "-t1", f"-c{connections}", f"-d{DURATION_S}s", f"http://{address}{_PATH}"]
    message = folder / "message"
    message.write_bytes(struct.pack(">BI", 0, len(_MESSAGE)) + _MESSAGE)
    headers = ["-H", "content-type: application/grpc", "-H", "te: trailers", "-d", str(message)]
    streams = f"-m{users // connections}"
    return ["h2load", "-t1", f"-c{connections}", streams, f"-D{DURATION_S}", *headers, f"http://{address}/{_CALL}"]


def _run(command: list[str], folder: Path, cores: frozenset[int]) -> tuple[str, float]:
    """Run a tool; return what it prints, and its CPU time in seconds. Raises ProcessError."""
    log = folder / "tool.log"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = processes.start(command[0], command, log, cores)
    try:
        status = child.wait(_TIMEOUT_S)
    finally:
        child.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status:
        what = f"{command[0]} {processes.describe_status(status)}"
        raise processes.ProcessError(what, "see its output", log.read_text())
    return log.read_text(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
