"""Where requests are sent from: this process, or the pods of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from wirebench.drivers import Job
from wirebench.measure.calibration import estimate_coarse_s
from wirebench.run.load_pod.task import CalibrateTask, Files, JobTask, MeasureTask, Task, decode_answer
from wirebench.targets.cluster.load_pods import LOAD_CORES, LoadPods
from wirebench.targets.endpoint import Endpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoadSource:
    """Has tasks carried out: by load pods where there are any, or else by this process."""

    load_pods: LoadPods | None = None

    def run(self, task: Task[T], endpoints: Sequence[Endpoint] = ()) -> T:
        """Carry out a task that sends requests to these endpoints; return its answer. Raises WirebenchError."""
        if self.load_pods is None:
            return task.run()
        moved = _move(task, endpoints[0]) if isinstance(task, JobTask) else task
        content = moved.model_dump(mode="json")
        if isinstance(moved, MeasureTask):
            printed = self.load_pods.measure(moved.job.cell, moved.job.load, endpoints[0], content)
        elif isinstance(task, CalibrateTask):  # the server of known latency has as many cores as the driver
            printed = self.load_pods.run_once(content, 2 * LOAD_CORES, expected_s=estimate_coarse_s(task.probes))
        else:
            printed = self.load_pods.run_once(content, endpoints=endpoints)
        return decode_answer(task, printed)


def _move(task: JobTask[T], endpoint: Endpoint) -> JobTask[T]:
    """Return a task for a pod, with what its job has only on this machine. Raises WirebenchError."""
    changes: dict[str, object] = {"job": make_pod_job(task.job, endpoint), "files": Files.of(task.job)}
    if isinstance(task, MeasureTask):
        changes |= {"recording": task.job.load.recording, "cores": LOAD_CORES}
    return task.model_copy(update=changes)


def make_pod_job(job: Job, endpoint: Endpoint) -> Job:
    """Return a job without what is of this machine, in whose place the pod puts its own; TLS files are the pod's."""
    address, replicas = job.address, job.replicas
    if job.cell.balancing == "pod":
        address = endpoint.addresses[0]
    elif job.cell.balancing == "headless":
        # Pods without a common name are named by the first one's address.
        address, replicas = endpoint.headless_address or endpoint.addresses[0], endpoint.addresses
    return replace(
        job,
        address=address,
        replicas=replicas,
        output=Path(job.output.name),
        log=Path(job.log.name),
        cores=None,
        tls=endpoint.tls,
        metrics_push=job.metrics_push and replace(job.metrics_push, labels={}),
    )
