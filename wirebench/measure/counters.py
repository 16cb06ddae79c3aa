"""What a service counted itself, read from its admin port: requests by worker."""

from __future__ import annotations

import http.client
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from wirebench.errors import WirebenchError
from wirebench.targets.target import Replica

_TIMEOUT_S = 10.0
#: A worker counts a request right after it has sent the reply; on a busy machine it may be interrupted in between.
_STILL_S = 0.1
_SETTLE_TIMEOUT_S = 5.0
_COUNTED_TIMEOUT_S = 3.0
_COUNTED_POLL_S = 0.02
_REQUESTS = re.compile(r"^wirebench_request_duration_seconds_count\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_WORKER = re.compile(r'\bworker="([^"]*)"')

#: Requests by worker. A worker without a request isn't listed.
Counts = Mapping[str, int]


def read_counts(admin_url: str) -> Counts:
    """Read how many requests a service has had. Raises WirebenchError if it doesn't answer."""
    parts = urlsplit(admin_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        text = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise WirebenchError(f"can't read {admin_url}/metrics: {error}", "has the service died? see its log") from error
    finally:
        connection.close()
    return parse_counts(text)


def parse_counts(text: str) -> Counts:
    """Read the requests out of Prometheus' text format."""
    counts: Counter[str] = Counter()
    for match in _REQUESTS.finditer(text):
        if worker := _WORKER.search(match["labels"]):
            counts[worker[1]] += int(float(match["value"]))
    return counts


def read_replicas(replicas: Sequence[Replica]) -> dict[str, Counts]:
    """Read the counts of those replicas that can be asked, by name. Raises WirebenchError if one doesn't answer."""
    return {replica.name: read_counts(replica.admin_url) for replica in replicas if replica.admin_url}


def count_since(replicas: Sequence[Replica], before: Mapping[str, Counts], sent: int) -> dict[str, Counts]:
    """Return the requests that replicas have counted since `before`, as soon as they are as many as were sent.

    If they don't become so many within a few seconds, those that there are. Raises WirebenchError if a replica doesn't
    answer.
    """
    deadline = time.monotonic() + _COUNTED_TIMEOUT_S
    while True:
        added = {name: subtract(counts, before[name]) for name, counts in read_replicas(replicas).items()}
        if sum(map(_total, added.values())) >= sent or time.monotonic() > deadline or not added:
            return added
        time.sleep(_COUNTED_POLL_S)


def wait_until_settled(admin_urls: Sequence[str]) -> None:
    """Wait until the requests that services have had are counted: until their counts stand still for a moment."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    before: list[int] = []
    while (now := [_total(read_counts(url)) for url in admin_urls]) != before and time.monotonic() < deadline:
        before = now
        time.sleep(_STILL_S)


def subtract(counts: Counts, before: Counts) -> Counts:
    """Return the requests that each worker has had since, without workers that had none."""
    added = {worker: count - before.get(worker, 0) for worker, count in counts.items()}
    return {worker: count for worker, count in added.items() if count}


def _total(counts: Counts) -> int:
    return sum(counts.values())


def fairness(counts: Sequence[int], sharers: int) -> float | None:
    """Return Jain's fairness index: 1 if all are equal, 1/n if one has all; None if there is nothing to share.

    Those of the `sharers` that aren't in the counts have nothing.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984.
    """
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (max(sharers, len(counts)) * squares) if squares else None
