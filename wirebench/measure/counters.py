"""What services and the kernel count: requests by worker, and dropped packets."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.measure.usage import fetch_text
from wirebench.targets.endpoint import Replica

#: A worker counts a request right after it has sent the reply; on a busy machine it may be interrupted in between.
_STILL_S = 0.1
_SETTLE_TIMEOUT_S = 5.0
_COUNTED_TIMEOUT_S = 3.0
_COUNTED_POLL_S = 0.02
_REQUESTS = re.compile(r"^wirebench_request_duration_seconds_count\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_WORKER = re.compile(r'\bworker="([^"]*)"')
#: The kernel's table of tracked connections: with Docker or a firewall, loopback's are in it, too.
_CONNECTION_TABLE = Path("/proc/net/stat/nf_conntrack")

#: Requests by worker. A worker without a request isn't listed.
Counts = dict[str, int]


def read_counts(admin_url: str) -> Counts:
    """Read how many requests each worker of a service has had. Raises WirebenchError if it doesn't answer."""
    try:
        text = fetch_text(f"{admin_url}/metrics")
    except OSError as error:
        raise WirebenchError(f"can't read {admin_url}/metrics: {error}", "has the service died? see its log") from error
    counts: Counter[str] = Counter()
    for match in _REQUESTS.finditer(text):
        if worker := _WORKER.search(match["labels"]):
            counts[worker[1]] += int(float(match["value"]))
    return counts


def read_replicas(replicas: Sequence[Replica]) -> dict[str, Counts]:
    """Read the counts of those replicas that can be asked, by name. Raises WirebenchError if one doesn't answer."""
    counts = {}
    for replica in replicas:
        if replica.admin_url:
            with contextlib.suppress(*((WirebenchError,) if replica.may_go else ())):
                counts[replica.name] = read_counts(replica.admin_url)
    return counts


def count_since(replicas: Sequence[Replica], before: Mapping[str, Counts], sent: int) -> dict[str, Counts]:
    """Return the requests that replicas have counted since `before`, as soon as they are as many as were sent.

    If they don't become so many within a few seconds, those that there are. Workers that had none aren't listed. Raises
    WirebenchError if a replica doesn't answer.
    """
    deadline = time.monotonic() + _COUNTED_TIMEOUT_S
    while True:
        added = {}
        for name, counts in read_replicas(replicas).items():
            earlier = before.get(name, {})
            own = {worker: count - earlier.get(worker, 0) for worker, count in counts.items()}
            added[name] = {worker: count for worker, count in own.items() if count}
        if sum(sum(each.values()) for each in added.values()) >= sent or time.monotonic() > deadline or not added:
            return added
        time.sleep(_COUNTED_POLL_S)


def wait_until_settled(replicas: Sequence[Replica]) -> None:
    """Wait until the requests that services have had are counted: until their counts stand still for a moment."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    before: dict[str, Counts] = {}
    while (now := read_replicas(replicas)) != before and time.monotonic() < deadline:
        before = now
        time.sleep(_STILL_S)


def compute_fairness(counts: Sequence[int], sharers: int) -> float | None:
    """Return Jain's fairness index: 1 if all are equal, 1/n if one has all; None if there is nothing to share.

    Those of the `sharers` that aren't in the counts have nothing.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984.
    """
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (max(sharers, len(counts)) * squares) if squares else None


def count_dropped_packets(path: Path = _CONNECTION_TABLE) -> int | None:
    """Return how many packets were dropped since the start of the system, as the table was full; None without a table.

    The columns are hexadecimal, a line per CPU: net/netfilter/nf_conntrack_standalone.c in Linux.
    """
    try:
        header, *lines = path.read_text().splitlines()
    except OSError:
        return None
    column = header.split().index("drop")
    return sum(int(line.split()[column], 16) for line in lines)
