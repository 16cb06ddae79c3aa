"""The harness's side of load pods: has them do what `LoadSource` does in this process elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from wirebench.drivers import Job
from wirebench.drivers.wireload import Answer
from wirebench.measure.calibration import Point, Probe, estimate_coarse_s
from wirebench.measure.conformance import Conformance
from wirebench.measure.observe import Observation
from wirebench.model.scenario import Load
from wirebench.run.load_pod.task import (
    CalibrateTask,
    Files,
    MeasureTask,
    ReflectTask,
    SendTask,
    Task,
    VerifyTask,
    decode_answer,
)
from wirebench.run.load_source import LoadSource
from wirebench.targets.cluster.load_pods import LoadPods
from wirebench.targets.endpoint import Endpoint

T = TypeVar("T")


class PodLoad(LoadSource):
    """Sends requests from pods of a cluster, `load` from as many as it has generators."""

    def __init__(self, load_pods: LoadPods, load: Load) -> None:
        super().__init__()
        self._load_pods = load_pods
        self._pod_cores = load_pods.count_cores(load)

    def observe(self, job: Job, endpoint: Endpoint) -> tuple[Observation, ...]:
        if job.cell.balancing == "pod":
            job = replace(job, address=endpoint.addresses[0])
        elif job.cell.balancing == "headless":
            # Pods without a common name are named by the first one's address.
            address = endpoint.headless_address or endpoint.addresses[0]
            job = replace(job, address=address, replicas=endpoint.addresses)
        task = MeasureTask(
            job=make_pod_job(job, endpoint),
            files=Files.of(job),
            replicas=endpoint.replicas,
            agents=dict(endpoint.agents),
            recording=job.load.recording,
            cores=self._pod_cores,
        )
        printed = self._load_pods.measure(job.cell, job.load, endpoint, task.model_dump(mode="json"))
        return tuple(decode_answer(each, Observation) for each in printed)

    def send(self, job: Job, endpoint: Endpoint, requests_each: int) -> Sequence[Answer]:
        task = SendTask(job=make_pod_job(job, endpoint), files=Files.of(job), requests_each=requests_each)
        return self._carry_out(task, tuple[Answer, ...], [endpoint])

    def reflect(self, endpoint: Endpoint, folder: Path, calls: Sequence[str], headers: Mapping[str, str]) -> bytes:  # noqa: ARG002 - of this machine
        task = ReflectTask(address=endpoint.address, tls=endpoint.tls, calls=tuple(calls), headers=dict(headers))
        return base64.b64decode(self._carry_out(task, str, [endpoint]))

    def verify(self, endpoints: Sequence[Endpoint], seed: int) -> Conformance:
        return self._carry_out(VerifyTask(services=tuple(endpoints), seed=seed), Conformance, endpoints)

    def calibrate(self, probes: Sequence[Probe]) -> tuple[Point, ...]:
        """Measure drivers on the cores of a load pod, with as many for the server. Raises WirebenchError."""
        task = CalibrateTask(probes=tuple(probes), cores=self._pod_cores)
        return self._carry_out(task, tuple[Point, ...], (), 2 * self._pod_cores, estimate_coarse_s(probes))

    def _carry_out(
        self, task: Task, kind: type[T], endpoints: Sequence[Endpoint], cores: float = 1.0, expected_s: float = 0.0
    ) -> T:
        return decode_answer(
            self._load_pods.run_once(task.model_dump(mode="json"), cores, tuple(endpoints), expected_s), kind
        )


def make_pod_job(job: Job, endpoint: Endpoint) -> Job:
    """Return a job without what is of this machine, in whose place the pod puts its own; TLS files are the pod's."""
    return replace(
        job,
        output=Path(job.output.name),
        log=Path(job.log.name),
        cores=None,
        namespace=None,
        tls=endpoint.tls,
        metrics_push=job.metrics_push and replace(job.metrics_push, labels={}),
    )
