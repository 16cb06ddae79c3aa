"""The harness's side: asking load pods for what `measure` does in this process elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wirebench.drivers import Job
from wirebench.generator.task import (
    Calibrated,
    CalibrateTask,
    MeasureTask,
    ServiceAt,
    Verified,
    VerifyTask,
    decode_answer,
)
from wirebench.measure import Observation
from wirebench.measure.calibrate import Probe
from wirebench.measure.conformance import Conformance
from wirebench.scenario import Load
from wirebench.targets import Endpoint, LoadPods


def observe(
    load_pods: LoadPods, job: Job, endpoint: Endpoint, meanwhile: Callable[[], None]
) -> tuple[Observation, ...]:
    """Send a job's load from pods, and return what each of them observed; `meanwhile` is called early in the window.

    Raises WirebenchError.
    """
    address = endpoint.address
    addresses: tuple[str, ...] = ()
    if job.cell.balancing == "headless":
        address, addresses = endpoint.headless_address, endpoint.addresses
    elif job.cell.balancing == "pod":
        address = endpoint.addresses[0]
    task = MeasureTask(
        cell=job.cell,
        load=job.load,
        address=address,
        addresses=addresses,
        # Those that a disruption takes away can't be asked what they did.
        replicas=() if job.cell.is_disrupted else endpoint.replicas,
        agents=dict(endpoint.agents),
        tls=endpoint.tls,
        seed=job.seed,
        id_base=job.id_base,
        recording=job.load.recording,
        cores=load_pods.cores_of(job.load),
        prometheus=job.live.url if job.live else None,
    )
    printed = load_pods.measure(job.cell, job.load, task.model_dump(mode="json"), meanwhile)
    return tuple(Observation.model_validate(decode_answer(each)) for each in printed)


def verify(load_pods: LoadPods, endpoints: Iterable[Endpoint], seed: int) -> Conformance:
    """Have a pod see whether services answer alike. Raises WirebenchError."""
    services = tuple(ServiceAt(service=each.service, address=each.address, tls=each.tls) for each in endpoints)
    printed = load_pods.once(VerifyTask(services=services, seed=seed).model_dump(mode="json"))
    verified = Verified.model_validate(decode_answer(printed))
    return Conformance(verified.requests, verified.mismatches)


def calibrate(load_pods: LoadPods, load: Load, probes: Iterable[Probe]) -> Calibrated:
    """Have a pod calibrate drivers on the cores of a load pod, with as many for the server. Raises WirebenchError."""
    cores = load_pods.cores_of(load)
    task = CalibrateTask(probes=tuple(probes), cores=cores)
    return Calibrated.model_validate(decode_answer(load_pods.once(task.model_dump(mode="json"), 2 * cores)))
