"""A load by wireload on one service, as runs send it."""

from __future__ import annotations

from pathlib import Path

from wirebench.drivers import Job
from wirebench.measure.observe import Observation, observe
from wirebench.model.cell import Cell
from wirebench.model.contract import CLOSING_RUNTIMES
from wirebench.model.scenario import Load
from wirebench.targets import Endpoint


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
    cell = Cell(
        transport=spec.transport,
        runtime=spec.runtime,
        implementation=spec.implementation,
        driver="wireload",
        operation=operation,
        stream_items=stream_items,
        concurrency=concurrency,
        rate_per_s=None,
        workers=1,
        threads=None,
        store="memory",
        codec="protobuf" if spec.transport == "grpc" else "json",
        connection="reopen" if spec.runtime in CLOSING_RUNTIMES else "keep",
    )
    job = Job(cell, load, endpoint.address, 1, 1, folder / "histograms.json", folder / "wireload.log", cores)
    return observe(job, endpoint.replicas, len(cores))
