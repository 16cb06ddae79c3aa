"""The ceiling of wireload on one core, beside wrk's and h2load's in the same run.

The server takes less CPU time for a request than they do. wrk and h2load are Debian packages (wrk, nghttp2-client).
Rounds alternate between the tools; the median of ratios is what counts.
"""

from __future__ import annotations

import re
import shutil
import statistics
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.measure.truth import run_server
from wirebench.model.contract import TRANSPORTS
from wirebench.model.histogram_file import HistogramFile
from wirebench.system import processes
from wirebench.system.paths import CONTRACT, TOOLS
from wirebench.system.ports import LOOPBACK
from wirebench.targets import divide_cores

ROUNDS = 5
DURATION_S = 3
CONNECTIONS = 16
#: Of a user that every service has.
_ID = 1_000_001
_CALL = "wirebench.v1.UserService/GetUser"
#: A gRPC message of one varint field, behind its prefix.
_MESSAGE = b"\x08\xc1\x84\x3d"
_TIMEOUT_S = DURATION_S + 30.0

_WIRELOAD: dict[str, Callable[[str], list[str]]] = {
    "rest": lambda address: [f"http://{address}/api/users/{_ID}"],
    "grpc": lambda address: [address, _CALL, "--data", f'{{"id": {_ID}}}', "--protoset", str(CONTRACT)],
    "socket": lambda address: [address, "users.get", "--data", f'{{"id": {_ID}}}'],
}
#: The ratio of requests per second that wireload must reach: to what, and how much.
_LIMITS = (("rest", "wrk", 0.9), ("grpc", "h2load", 1.2), ("socket", "rest", 1.0))


def main() -> bool:
    """Measure all in rounds and print the ratios. Raises WirebenchError."""
    if missing := [each for each in ("wrk", "h2load") if not shutil.which(each)]:
        raise WirebenchError(f"{' and '.join(missing)} not found", "run `apt-get install wrk nghttp2-client`")
    rounds = [_measure_round() for _ in range(ROUNDS)]
    good = True
    for name in rounds[0]:
        print(f"{name:8} {statistics.median(each[name] for each in rounds):9,.0f} requests/s (median of {ROUNDS})")
    for name, reference, limit in _LIMITS:
        ratios = [each[name] / each[reference] for each in rounds]
        ratio = statistics.median(ratios)
        good = good and ratio >= limit
        print(f"{name} / {reference}: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}), limit {limit}")
    return good


def _measure_round() -> dict[str, float]:
    rates: dict[str, float] = {}
    cores = divide_cores()
    one = frozenset({min(cores.generator)})
    for transport in TRANSPORTS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            with run_server(transport, ["-behaviour", "fixed"], cores.server, folder / "truth.log") as (port, _):
                address = f"{LOOPBACK}:{port}"
                rates[transport] = _run_wireload(transport, address, folder, one)
                if transport == "rest":
                    command = [
                        "wrk",
                        "-t1",
                        f"-c{CONNECTIONS}",
                        f"-d{DURATION_S}s",
                        f"http://{address}/api/users/{_ID}",
                    ]
                    rates["wrk"] = _run(command, r"Requests/sec:\s+([\d.]+)", folder, one)
                if transport == "grpc":
                    rates["h2load"] = _run_h2load(address, folder, one)
    return rates


def _run_wireload(transport: str, address: str, folder: Path, cores: frozenset[int]) -> float:
    output = folder / "histograms.json"
    options = ["-c", str(CONNECTIONS), "-d", f"{DURATION_S}s", "--quiet", "--output", str(output)]
    _run([str(TOOLS / "wireload"), transport, *_WIRELOAD[transport](address), *options], r"([\d.]+)/s", folder, cores)
    file = HistogramFile.read(output)
    return file.merge_histograms("service").count / file.require_window().duration_s


def _run_h2load(address: str, folder: Path, cores: frozenset[int]) -> float:
    message = folder / "message"
    message.write_bytes(struct.pack(">BI", 0, len(_MESSAGE)) + _MESSAGE)
    headers = ["-H", "content-type: application/grpc", "-H", "te: trailers", "-d", str(message)]
    command = ["h2load", "-t1", f"-c{CONNECTIONS}", "-m1", f"-D{DURATION_S}", *headers, f"http://{address}/{_CALL}"]
    return _run(command, r"finished in [^,]+, ([\d.]+) req/s", folder, cores)


def _run(command: list[str], pattern: str, folder: Path, cores: frozenset[int]) -> float:
    """Run a tool and return the number that it prints. Raises ProcessError."""
    log = folder / "tool.log"
    child = processes.start(command[0], command, log, cores)
    try:
        status = child.wait(_TIMEOUT_S)
    finally:
        child.stop()
    found = re.search(pattern, log.read_text())
    if status or not found:
        raise processes.ProcessError(
            f"{command[0]} {processes.describe_status(status)}", "see its output", log.read_text()
        )
    return float(found[1])
