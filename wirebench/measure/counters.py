"""What services, nodes and the kernel count: requests by worker, CPU time and memory, dropped packets."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.measure.usage import Usage, sum_if_all_known
from wirebench.system import cgroup
from wirebench.system.http import fetch
from wirebench.targets.target import Containers, Replica

#: A worker counts a request right after it has sent the reply; on a busy machine it may be interrupted in between.
_STILL_S = 0.1
_SETTLE_TIMEOUT_S = 5.0
_COUNTED_TIMEOUT_S = 3.0
_COUNTED_POLL_S = 0.02
_REQUESTS = re.compile(r"^wirebench_request_duration_seconds_count\{(?P<labels>[^}]*)\} (?P<value>\S+)$", re.MULTILINE)
_WORKER = re.compile(r'\bworker="([^"]*)"')
#: How often, and how long in between, a pod's containers are looked at until ours is known.
_ATTEMPTS = 20
_RETRY_PAUSE_S = 0.1
_METRIC = r"^{}(?:\{{.*\}})?[ \t]+(\S+)"
_CPU = re.compile(_METRIC.format("process_cpu_seconds_total"), re.MULTILINE)
_MEMORY = re.compile(_METRIC.format("process_resident_memory_bytes"), re.MULTILINE)
#: The kernel's table of tracked connections: with Docker or a firewall, loopback's are in it, too.
_CONNECTION_TABLE = Path("/proc/net/stat/nf_conntrack")

#: Requests by worker. A worker without a request isn't listed.
Counts = Mapping[str, int]


def _fetch(url: str) -> str:
    """Return what a service answers. Raises OSError if that isn't 200."""
    reply = fetch(url)
    if reply.status != HTTPStatus.OK:
        raise OSError(f"status {reply.status}")
    return reply.body.decode()


def read_counts(admin_url: str) -> Counts:
    """Read how many requests a service has had. Raises WirebenchError if it doesn't answer."""
    try:
        return parse_counts(_fetch(f"{admin_url}/metrics"))
    except OSError as error:
        raise WirebenchError(f"can't read {admin_url}/metrics: {error}", "has the service died? see its log") from error


def parse_counts(text: str) -> Counts:
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

    If they don't become so many within a few seconds, those that there are. Raises WirebenchError if a replica doesn't
    answer.
    """
    deadline = time.monotonic() + _COUNTED_TIMEOUT_S
    while True:
        added = {name: subtract(counts, before.get(name, {})) for name, counts in read_replicas(replicas).items()}
        if sum(sum(each.values()) for each in added.values()) >= sent or time.monotonic() > deadline or not added:
            return added
        time.sleep(_COUNTED_POLL_S)


def wait_until_settled(admin_urls: Sequence[str]) -> None:
    """Wait until the requests that services have had are counted: until their counts stand still for a moment."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    before: list[int] = []
    while (now := [sum(read_counts(url).values()) for url in admin_urls]) != before and time.monotonic() < deadline:
        before = now
        time.sleep(_STILL_S)


def subtract(counts: Counts, before: Counts) -> Counts:
    """Return the requests that each worker has had since, without workers that had none."""
    added = {worker: count - before.get(worker, 0) for worker, count in counts.items()}
    return {worker: count for worker, count in added.items() if count}


def compute_fairness(counts: Sequence[int], sharers: int) -> float | None:
    """Return Jain's fairness index: 1 if all are equal, 1/n if one has all; None if there is nothing to share.

    Those of the `sharers` that aren't in the counts have nothing.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984.
    """
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (max(sharers, len(counts)) * squares) if squares else None


def read_containers(containers: Containers) -> Usage | None:
    """Ask the agent on a pod's node (`wirebench.system.cgroup_agent`) what its containers have used together.

    None if one is missing, or the agent doesn't answer.
    """
    there = _read_pod(containers.agent_url, containers.pod_uid)
    used = [there[each] for each in containers.ids if each in there]
    if not used or len(used) < len(containers.ids):
        return None
    return Usage(
        time_unix_ns=used[-1].time_unix_ns,
        cpu_s=sum_if_all_known(each.cpu_s for each in used),
        throttled_periods=sum_if_all_known(each.throttled_periods for each in used),
        memory_bytes=sum_if_all_known(each.memory_bytes for each in used),
    )


def _read_own_cpu_s() -> float | None:
    known = map(cgroup.read_cpu_s, cgroup.list_folders("cpuacct"))
    return next((value for value in known if value is not None), None)


def find_containers_beside(
    agent_url: str, pod_uid: str, own_cpu_s: Callable[[], float | None] = _read_own_cpu_s
) -> tuple[str, ...]:
    """Return the ids of the containers that run in this process's pod, without its own; empty if they can't be told.

    A container can't always see its own id. But it sees its own CPU time, and no other container has the same.
    """
    for _ in range(_ATTEMPTS):
        before, there, after = own_cpu_s(), _read_pod(agent_url, pod_uid), own_cpu_s()
        if before is not None and after is not None:
            own = [each for each, used in there.items() if used.cpu_s is not None and before <= used.cpu_s <= after]
            if len(own) == 1:
                return tuple(sorted(there.keys() - own))
        time.sleep(_RETRY_PAUSE_S)
    return ()


def _read_pod(agent_url: str, pod_uid: str) -> dict[str, Usage]:
    try:
        return {each: Usage(**used) for each, used in json.loads(_fetch(f"{agent_url}/containers/{pod_uid}")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def read_process_metrics(url: str) -> Usage | None:
    """Read what a service's processes have used from its own metrics, all samples added up; None if they lack it."""
    with contextlib.suppress(OSError, ValueError):
        now_ns, text = time.time_ns(), _fetch(url)
        cpu, memory = (list(map(float, metric.findall(text))) for metric in (_CPU, _MEMORY))
        if cpu:
            return Usage(now_ns, sum(cpu), memory_bytes=int(sum(memory)) if memory else None)
    return None


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
