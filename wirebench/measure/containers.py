"""What containers use, asked of the agent on their node (`wirebench.cgroup_agent`)."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from wirebench import cgroup
from wirebench.measure.usage import Usage, sum_known
from wirebench.targets.target import Containers

_TIMEOUT_S = 10.0
_ATTEMPTS = 20
_RETRY_PAUSE_S = 0.1


def read_containers(containers: Containers) -> Usage | None:
    """Return what a pod's containers have used together; None if one is missing, or the agent doesn't answer."""
    there = _read_pod(containers.agent_url, containers.pod_uid)
    used = [there[each] for each in containers.ids if each in there]
    if not used or len(used) < len(containers.ids):
        return None
    memory = sum_known(each.memory_bytes for each in used)
    return Usage(
        time_unix_ns=used[-1].time_unix_ns,
        cpu_s=sum_known(each.cpu_s for each in used),
        throttled_periods=sum_known(each.throttled_periods for each in used),
        memory_bytes=None if memory is None else round(memory),
    )


def _own_cpu_s() -> float | None:
    """Return the CPU time of the cgroup that this process is in."""
    known = map(cgroup.read_cpu_s, cgroup.folders("cpuacct"))
    return next((value for value in known if value is not None), None)


def find_containers_beside(
    agent_url: str, pod_uid: str, own_cpu_s: Callable[[], float | None] = _own_cpu_s
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
    connection = http.client.HTTPConnection(urlsplit(agent_url).netloc, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", f"/containers/{pod_uid}")
        return {each: Usage(**used) for each, used in json.load(connection.getresponse()).items()}
    except (OSError, http.client.HTTPException, ValueError, TypeError, AttributeError):
        return {}
    finally:
        connection.close()
