"""A service on this machine, and a load by wireload on it, as runs have them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.measure.observe import Observation, observe
from wirebench.model.cell import ServiceSpec
from wirebench.model.scenario import Load
from wirebench.targets import Cores, Endpoint, LocalTarget


@contextlib.contextmanager
def start_service(spec: ServiceSpec, cores: Cores) -> Iterator[tuple[Endpoint, Path]]:
    """Run a service on its cores until the block ends; yield where it is, and a folder for files of the block.

    Raises WirebenchError.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = LocalTarget(cores, lambda log: folder / f"{log}.log")
        try:
            (endpoint,) = target.start([spec]).values()
            yield endpoint, folder
        finally:
            target.stop()


def send_load(  # noqa: PLR0913 - what a load is
    endpoint: Endpoint,
    folder: Path,
    cores: frozenset[int],
    load: Load,
    concurrency: int,
    *,
    operation: str = "users.get",
    stream_items: int | None = None,
) -> Observation:
    """Send requests of an operation, and return what driver and server measured meanwhile.

    Raises WirebenchError.
    """
    spec = endpoint.service
    of = cell(
        spec.transport,
        runtime=spec.runtime,
        implementation=spec.implementation,
        operation=operation,
        stream_items=stream_items,
        concurrency=concurrency,
        connection="keep",
    )
    job = Job(of, load, endpoint.address, 1, 1, folder / "histograms.json", folder / "wireload.log", cores)
    return observe(job, endpoint.replicas, len(cores))
