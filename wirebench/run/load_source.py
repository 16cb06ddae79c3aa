"""Where requests are sent from: this process, as here, or the pods of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.wireload import Answer, reflect, send_requests
from wirebench.measure.calibration import Point, Probe, measure_coarsely
from wirebench.measure.conformance import Conformance, check_services
from wirebench.measure.observe import Observation, observe
from wirebench.targets.cores import Cores, divide_cores
from wirebench.targets.endpoint import Endpoint


class LoadSource:
    """Sends requests from this process; `wirebench.run.load_pod` has the one that sends them from pods."""

    def __init__(self, cores: Cores | None = None) -> None:
        """Take the cores of server and generator, where both are bound to some of this machine."""
        self._cores = cores

    def observe(self, job: Job, endpoint: Endpoint) -> tuple[Observation, ...]:
        """Send a job's load, and return what each generator observed. Raises WirebenchError."""
        cores = None
        if job.cores is not None:  # all that it has, but no more than its driver can use
            cores = min(len(job.cores), DRIVERS[job.cell.driver].cores_max or len(job.cores))
        return (observe(job, endpoint.replicas, cores, self._cores),)

    def send(self, job: Job, endpoint: Endpoint, requests_each: int) -> Sequence[Answer]:  # noqa: ARG002 - of pods
        """Send `requests_each` of each operation of a job. Raises WirebenchError if the service can't be reached."""
        return send_requests(job, requests_each)

    def reflect(self, endpoint: Endpoint, folder: Path, calls: Sequence[str], headers: Mapping[str, str]) -> bytes:
        """Return the messages of calls by server reflection; `folder` is for files. Raises WirebenchError."""
        return reflect(endpoint.address, folder, endpoint.tls, calls, headers)

    def verify(self, endpoints: Sequence[Endpoint], seed: int) -> Conformance:
        """See whether services of the built-in application answer alike. Raises WirebenchError."""
        return check_services(endpoints, seed)

    def calibrate(self, probes: Sequence[Probe]) -> tuple[Point, ...]:
        """Measure drivers against a server of known latency. Raises WirebenchError.

        Where services run elsewhere, drivers have all cores, and are at least as good there as on their half.
        """
        return measure_coarsely(probes, self._cores or divide_cores())
