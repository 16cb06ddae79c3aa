"""Cells and jobs of drivers."""

from __future__ import annotations

from pathlib import Path

from wirebench.drivers import Job
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Connection, Driver, Transport
from wirebench.model.scenario import Load

CELL = Cell(
    transport="grpc",
    runtime="sync",
    driver="ghz",
    operation="users.get",
    concurrency=16,
    rate_per_s=None,
    workers=1,
    threads=None,
    store="memory",
    codec="protobuf",
    connection="keep",
)
JOB = Job(
    cell=CELL,
    load=Load(model="closed", warmup_s=0.5, window_s=1.0),
    address="127.0.0.1:1",
    seed=1,
    id_base=30_000_000,
    output=Path("out.json"),
    log=Path("out.log"),
    cores=None,
)


def cell(  # noqa: PLR0913 - what cells differ in
    transport: Transport,
    driver: Driver,
    *,
    concurrency: int = 8,
    rate_per_s: int | None = None,
    connection: Connection = "keep",
    delay_ms: int | None = None,
) -> Cell:
    """Return a cell that gets users, at its transport's defaults."""
    return Cell(
        transport=transport,
        runtime=TRANSPORTS[transport].runtimes["python"][0],
        driver=driver,
        operation="users.get",
        concurrency=concurrency,
        rate_per_s=rate_per_s,
        workers=1,
        threads=None,
        store="memory",
        codec=TRANSPORTS[transport].codecs[0],
        connection=connection,
        delay_ms=delay_ms,
    )
