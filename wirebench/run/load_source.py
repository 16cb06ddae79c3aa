"""Where requests are sent from: this process, as here, or the pods of a cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.wireload import Answer, reflect, send_requests
from wirebench.measure.calibration import Point, Probe, estimate_coarse_s, measure_coarsely
from wirebench.measure.conformance import Conformance, check_services
from wirebench.measure.observe import Observation, observe
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
from wirebench.targets.cluster.load_pods import LOAD_CORES, LoadPods
from wirebench.targets.cores import Cores, divide_cores
from wirebench.targets.endpoint import Endpoint

T = TypeVar("T")


class LoadSource:
    """Sends requests from this process."""

    def __init__(self, cores: Cores | None = None) -> None:
        """Take the cores of server and generator, where both are bound to some of this machine."""
        self._cores = cores

    def observe(self, job: Job, endpoint: Endpoint) -> Observation:
        """Send a job's load, and return what was observed. Raises WirebenchError."""
        cores = None
        if job.cores is not None:  # all that it has, but no more than its driver can use
            cores = min(len(job.cores), DRIVERS[job.cell.driver].cores_max or len(job.cores))
        return observe(job, endpoint.replicas, cores, self._cores)

    def send(self, job: Job, endpoint: Endpoint, requests_each: int) -> Sequence[Answer]:  # noqa: ARG002 - of pods
        """Send `requests_each` of each operation of a job. Raises WirebenchError if the service can't be reached."""
        return send_requests(job, requests_each)

    def reflect(self, endpoint: Endpoint, calls: Sequence[str], headers: Mapping[str, str]) -> bytes:
        """Return the messages of calls by server reflection. Raises WirebenchError."""
        return reflect(endpoint.address, endpoint.tls, calls, headers)

    def verify(self, endpoints: Sequence[Endpoint], seed: int) -> Conformance:
        """See whether services of the built-in application answer alike. Raises WirebenchError."""
        return check_services(endpoints, seed)

    def calibrate(self, probes: Sequence[Probe]) -> tuple[Point, ...]:
        """Measure drivers against a server of known latency. Raises WirebenchError.

        Where services run elsewhere, drivers have all cores, and are at least as good there as on their half.
        """
        return measure_coarsely(probes, self._cores or divide_cores())


class PodLoad(LoadSource):
    """Sends requests from pods of a cluster."""

    def __init__(self, load_pods: LoadPods) -> None:
        super().__init__()
        self._load_pods = load_pods

    def observe(self, job: Job, endpoint: Endpoint) -> Observation:
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
            cores=LOAD_CORES,
        )
        printed = self._load_pods.measure(job.cell, job.load, endpoint, task.model_dump(mode="json"))
        return decode_answer(printed, Observation)

    def send(self, job: Job, endpoint: Endpoint, requests_each: int) -> Sequence[Answer]:
        task = SendTask(job=make_pod_job(job, endpoint), files=Files.of(job), requests_each=requests_each)
        return self._carry_out(task, tuple[Answer, ...], [endpoint])

    def reflect(self, endpoint: Endpoint, calls: Sequence[str], headers: Mapping[str, str]) -> bytes:
        task = ReflectTask(address=endpoint.address, tls=endpoint.tls, calls=tuple(calls), headers=dict(headers))
        return base64.b64decode(self._carry_out(task, str, [endpoint]))

    def verify(self, endpoints: Sequence[Endpoint], seed: int) -> Conformance:
        return self._carry_out(VerifyTask(services=tuple(endpoints), seed=seed), Conformance, endpoints)

    def calibrate(self, probes: Sequence[Probe]) -> tuple[Point, ...]:
        """Measure drivers on the cores of a load pod, with as many for the server. Raises WirebenchError."""
        task = CalibrateTask(probes=tuple(probes), cores=LOAD_CORES)
        return self._carry_out(task, tuple[Point, ...], (), 2 * LOAD_CORES, estimate_coarse_s(probes))

    def _carry_out(
        self,
        task: Task,
        kind: type[T],
        endpoints: Sequence[Endpoint],
        cores: float = LOAD_CORES,
        expected_s: float = 0.0,
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
