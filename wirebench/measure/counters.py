"""What a service counted itself, read from its admin port."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from wirebench.errors import WirebenchError
from wirebench.targets.target import Replica

_TIMEOUT_S = 10.0
#: Services fold their counters twenty times a second; a busy machine may let them do so later.
_STILL_S = 0.3
_SETTLE_TIMEOUT_S = 5.0
_FOLDED_TIMEOUT_S = 3.0
_FOLDED_POLL_S = 0.02
_REQUESTS = re.compile(r"^wirebench_requests_total\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_THROTTLED = re.compile(r"^wirebench_cpu_throttled_periods_total (\S+)$", re.MULTILINE)
_MEMORY = re.compile(r"^wirebench_memory_bytes (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Counters:
    """A service's counters at one moment, and the memory that it used then; None for what it doesn't tell."""

    requests_by_worker: dict[str, int]
    throttled_periods: int | None
    memory_bytes: int | None

    @property
    def requests(self) -> int:
        """All requests of all workers."""
        return sum(self.requests_by_worker.values())

    def since(self, before: Counters) -> Counters:
        """Return what was added since an earlier moment; memory is that of the later one."""
        throttled = None
        if self.throttled_periods is not None and before.throttled_periods is not None:
            throttled = self.throttled_periods - before.throttled_periods
        added = {
            worker: count - before.requests_by_worker.get(worker, 0)
            for worker, count in self.requests_by_worker.items()
        }
        return Counters(added, throttled, self.memory_bytes)


def read_counters(admin_url: str) -> Counters:
    """Read a service's counters. Raises WirebenchError if it doesn't answer."""
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
    return parse_counters(text)


def read_replicas(replicas: Sequence[Replica]) -> dict[str, Counters]:
    """Read the counters of those replicas that can be asked, by name. Raises WirebenchError if one doesn't answer."""
    return {replica.name: read_counters(replica.admin_url) for replica in replicas if replica.admin_url}


def settled(replicas: Sequence[Replica], before: Mapping[str, Counters], sent: int) -> dict[str, Counters]:
    """Return what the replicas have counted since, once they have folded in the last of so many requests.

    Raises WirebenchError if one doesn't answer.
    """
    deadline = time.monotonic() + _FOLDED_TIMEOUT_S
    while True:
        counted = {name: counters.since(before[name]) for name, counters in read_replicas(replicas).items()}
        if sum(each.requests for each in counted.values()) >= sent or time.monotonic() > deadline or not counted:
            return counted
        time.sleep(_FOLDED_POLL_S)


def wait_until_settled(admin_urls: Sequence[str]) -> None:
    """Wait until what services were sent before has been counted: until their requests stand still for a while."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    before: list[int] = []
    while (now := [read_counters(url).requests for url in admin_urls]) != before and time.monotonic() < deadline:
        before = now
        time.sleep(_STILL_S)


def parse_counters(text: str) -> Counters:
    """Read the counters out of Prometheus' text format."""
    by_worker: dict[str, int] = {}
    for match in _REQUESTS.finditer(text):
        worker = dict(_LABEL.findall(match["labels"]))["worker"]
        by_worker[worker] = by_worker.get(worker, 0) + int(float(match["value"]))
    return Counters(by_worker, _number(_THROTTLED, text), _number(_MEMORY, text))


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(float(found[1])) if found else None


def fairness(counts: list[int]) -> float | None:
    """Return Jain's fairness index: 1 if all are equal, 1/n if one has all; None if there is nothing to share.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984.
    """
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else None
