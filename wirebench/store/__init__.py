"""Results on disk: one folder a run, one JSON record a cell and block."""

from __future__ import annotations

from wirebench.drivers.histogram_file import ErrorText
from wirebench.measure.record import (
    DisruptionRecord,
    Gate,
    Generator,
    Latency,
    OperationFigures,
    Record,
    Server,
    StreamFigures,
)
from wirebench.store.results import (
    DamagedRun,
    Run,
    RunFollower,
    RunWriter,
    find_run,
    is_run_name,
    list_runs,
    load_run,
    run_id,
)
from wirebench.store.run_info import RunInfo

__all__ = [
    "DamagedRun",
    "DisruptionRecord",
    "ErrorText",
    "Gate",
    "Generator",
    "Latency",
    "OperationFigures",
    "Record",
    "Run",
    "RunFollower",
    "RunInfo",
    "RunWriter",
    "Server",
    "StreamFigures",
    "find_run",
    "is_run_name",
    "list_runs",
    "load_run",
    "run_id",
]
