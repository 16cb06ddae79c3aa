"""Cells and jobs of drivers."""

from __future__ import annotations

from pathlib import Path

from tests.support import report_run
from wirebench.drivers import Job
from wirebench.model.cell import Cell
from wirebench.model.contract import Driver, Transport
from wirebench.model.scenario import Load

CELL = report_run.cell("grpc", driver="ghz")
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


def cell(transport: Transport, driver: Driver, **changes: object) -> Cell:
    """Return a cell of eight connections that gets users, at its transport's defaults, changed."""
    return report_run.cell(transport, driver=driver, **{"concurrency": 8, **changes})
