"""Load pods: a Job for each load, and what its pod has printed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.scenario import Load
from wirebench.plan import driver_support
from wirebench.targets.cluster.client import Cluster
from wirebench.targets.cluster.pods import Pod, explain, fail_if_hopeless
from wirebench.targets.cluster.release import SERVICES, build_load_values
from wirebench.targets.endpoint import Endpoint

#: What a load pod may take besides its load: to start, to wait for a name, to read what its tool kept, to write its
#: answer.
_EXTRA_S = 300.0
#: How many cores a load pod may use: a driver needs one to be ahead of half a core of Python.
LOAD_CORES = 1.0
_POLL_S = 0.5
_MEMORY_MIB = 1024
#: What a load pod takes besides its driver.
_HARNESS_MIB = 256
#: From a pod that runs to the first request, about.
_STARTING_S = 1.5
_SUCCEEDED = "Succeeded"

#: As JSON; `wirebench.run.load_pod.task` says what is in it.
Task = Mapping[str, object]


@dataclass(slots=True)
class LoadPods:
    """Starts pods that each carry out a task, and waits for them.

    Those that aren't to be on a server's node go by `node_selector`. Their Jobs are `<name>-1`, `<name>-2` …, of the
    release `wirebench-<name>`.
    """

    cluster: Cluster
    node_selector: Mapping[str, str] = field(default_factory=dict)
    name: str = "load"
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def release(self) -> str:
        return f"{SERVICES}-{self.name}"

    def measure(self, cell: Cell, load: Load, endpoint: Endpoint, task: Task) -> str:
        """Have a pod, placed as the cell says, carry out the task; return what it has printed.

        Raises WirebenchError if it can't be started, fails, or has gone.
        """
        # The duration of a number of calls is unknown; the window is the longest that it may take.
        expected_s = 0.0 if load.calls else load.window_s
        users = load.add_connections(cell).concurrency
        driver_mib = driver_support.estimate_memory_mib(cell.driver, cell.transport, users)
        settings = {
            "transport": cell.transport,
            "placement": cell.placement or "any",
            "resources": {
                "cpu": f"{LOAD_CORES * 1000:.0f}m",
                "memory": f"{max(_MEMORY_MIB, _HARNESS_MIB + driver_mib)}Mi",
            },
            "nodeSelector": {} if cell.placement in ("same-node", "same-pod") else dict(self.node_selector),
            "activeDeadlineSeconds": round(load.warmup_s + load.window_s + _EXTRA_S),
            **endpoint.load_values,
        }
        return self._run(cell.service, task, settings, _STARTING_S + load.warmup_s + expected_s)

    def run_once(
        self, task: Task, cores: float = LOAD_CORES, endpoints: Sequence[Endpoint] = (), expected_s: float = 0.0
    ) -> str:
        """Have a single pod, which may use so many cores, carry out the task; return what it has printed.

        `endpoints` are those that it sends requests to. For the `expected_s` that a measurement takes, nothing else is
        done. Raises WirebenchError.
        """
        settings = {
            "resources": {
                "cpu": f"{cores * 1000:.0f}m",
                # At most one: a node of two has no more to give away.
                "cpuRequest": f"{min(cores, 1) * 1000:.0f}m",
                "memory": f"{_MEMORY_MIB}Mi",
            },
            "nodeSelector": dict(self.node_selector),
            "activeDeadlineSeconds": round(expected_s + _EXTRA_S),
            **{name: value for each in endpoints for name, value in each.load_values.items()},
        }
        return self._run(None, task, settings, expected_s)

    def _run(self, service: ServiceSpec | None, task: Task, settings: Mapping[str, Any], expected_s: float) -> str:
        # A Job can't be changed: each has a name of its own, and the upgrade removes the one before.
        name = f"{self.name}-{next(self._numbers)}"
        self.cluster.upgrade(self.release, build_load_values(service, {**settings, "name": name, "plan": task}))
        deadline = time.monotonic() + settings["activeDeadlineSeconds"] + _POLL_S
        self._wait(name, deadline, ("Running", _SUCCEEDED), was_seen=False)
        # The API server isn't asked meanwhile: on one machine that would take CPU time from what is measured.
        time.sleep(expected_s)
        pod = self._wait(name, deadline, (_SUCCEEDED,), was_seen=True)
        return self.cluster.read_logs(pod.name, "load")

    def _wait(self, job: str, deadline: float, phases: Sequence[str], *, was_seen: bool) -> Pod:
        """Wait until a Job's pod is in one of these phases, and return it.

        Raises WirebenchError if it fails, takes too long, or has gone.
        """
        while True:
            pods = [Pod.read(each) for each in self.cluster.get("pods", f"batch.kubernetes.io/job-name={job}")]
            fail_if_hopeless(self.cluster, pods)
            if pods and pods[0].phase in phases:
                return pods[0]
            if (was_seen and not pods) or time.monotonic() > deadline:
                raise self._make_error(job, pods)
            was_seen = bool(pods)
            time.sleep(_POLL_S)

    def _make_error(self, job: str, pods: Sequence[Pod]) -> WirebenchError:
        """Return what the Job says of itself: a pod has gone, or time is up."""
        (found,) = self.cluster.get("jobs", f"batch.kubernetes.io/job-name={job}") or ({},)
        conditions = found.get("status", {}).get("conditions", ())
        reasons = "; ".join(each.get("message", "") for each in conditions if each["type"] == "Failed")
        return WirebenchError(
            f"the load's Job {job} has failed: {reasons or 'its pod has gone, or it took too long'}",
            "check that the cluster's nodes are healthy: kubectl describe nodes",
            "\n".join(explain(self.cluster, pod) for pod in pods),
        )
