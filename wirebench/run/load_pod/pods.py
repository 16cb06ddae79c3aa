"""The harness's side: asking load pods for what `measure` does in this process elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from wirebench.drivers import Job
from wirebench.drivers.wireload import Answer
from wirebench.measure.calibration import CoarsePoints, Probe
from wirebench.measure.conformance import Conformance
from wirebench.measure.observe import Observation
from wirebench.measure.variants import Sender
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
from wirebench.targets import Endpoint, LoadPods

T = TypeVar("T")


def observe(load_pods: LoadPods, job: Job, endpoint: Endpoint) -> tuple[Observation, ...]:
    """Send a job's load from pods, and return what each of them observed. Raises WirebenchError."""
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
        cores=load_pods.count_cores(job.load),
    )
    printed = load_pods.measure(job.cell, job.load, endpoint, task.model_dump(mode="json"))
    return tuple(decode_answer(each, Observation) for each in printed)


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


class PodSender(Sender):
    """Sends single requests from load pods."""

    def __init__(self, load_pods: LoadPods) -> None:
        self._load_pods = load_pods

    def send(self, job: Job, endpoint: Endpoint, requests_each: int) -> Sequence[Answer]:
        """Send `requests_each` of each operation of a job. Raises WirebenchError if the service can't be reached."""
        task = SendTask(job=make_pod_job(job, endpoint), files=Files.of(job), requests_each=requests_each)
        return self._carry_out(task, endpoint, tuple[Answer, ...])

    def reflect(self, endpoint: Endpoint, folder: Path, calls: Sequence[str], headers: Mapping[str, str]) -> bytes:  # noqa: ARG002 - of this machine
        """Return the messages of calls by server reflection. Raises WirebenchError."""
        task = ReflectTask(address=endpoint.address, tls=endpoint.tls, calls=tuple(calls), headers=dict(headers))
        return base64.b64decode(self._carry_out(task, endpoint, str))

    def _carry_out(self, task: Task, endpoint: Endpoint, kind: type[T]) -> T:
        return decode_answer(self._load_pods.run_once(task.model_dump(mode="json"), endpoints=(endpoint,)), kind)


def verify(load_pods: LoadPods, endpoints: Collection[Endpoint], seed: int) -> Conformance:
    """Have a pod see whether services answer alike. Raises WirebenchError."""
    task = VerifyTask(services=tuple(endpoints), seed=seed)
    printed = load_pods.run_once(task.model_dump(mode="json"), endpoints=task.services)
    return decode_answer(printed, Conformance)


def calibrate(load_pods: LoadPods, load: Load, probes: Sequence[Probe]) -> CoarsePoints:
    """Have a pod calibrate drivers on the cores of a load pod, with as many for the server. Raises WirebenchError."""
    cores = load_pods.count_cores(load)
    task = CalibrateTask(probes=tuple(probes), cores=cores)
    expected_s = sum(probe.expected_s for probe in probes)
    printed = load_pods.run_once(task.model_dump(mode="json"), 2 * cores, expected_s=expected_s)
    return decode_answer(printed, CoarsePoints)
