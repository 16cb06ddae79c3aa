"""Runs of streams whose items came at times that are known: what tests of their figures read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.histogram_files import make_file, make_series
from tests.support.report_run import START_NS, WINDOW_S, cell, record_of, run_info
from wirebench.model.cell import Cell
from wirebench.model.contract import Transport
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock, HistogramFile, Streams
from wirebench.model.run_info import Run
from wirebench.store.runs import RunWriter, load_run

MS = 1_000_000
OPERATION = "ledger.stream_transactions"


def stream_cell(transport: Transport, **changes: object) -> Cell:
    """Return a cell of streams, changed."""
    return cell(transport, **{"operation": OPERATION, "concurrency": 4, "stream_items": 100, **changes})


def file_of(times_ms: Mapping[Clock, Sequence[float]], **changes: Any) -> HistogramFile:  # noqa: ANN401 - fields
    """Return what a driver measured of items at these times, and of streams (`service`) that took so long."""
    series = tuple(
        make_series(Histogram.of_values((np.array(values) * MS).astype(np.int64)), OPERATION, clock=clock)
        for clock, values in times_ms.items()
    )
    items = len(times_ms.get("first_item", ())) + len(times_ms.get("gap", ()))
    file = make_file(
        START_NS,
        WINDOW_S,
        series=series,
        requests_total={"ok": len(times_ms.get("service", ()))} if "service" in times_ms else {},
        bytes_received=200 * items,
        streams=Streams(items_total=items, items_per_second=(items,), cancelled=0),
    )
    return file.model_copy(update=changes)


def write_run(
    folder: Path,
    cells: Sequence[Cell],
    gaps_ms: Mapping[str, float],
    blocks: int = 3,
) -> Run:
    """Write a run in which each transport's gaps are so long, a little longer from block to block, and read it back."""
    writer = RunWriter(folder, run_info(len(cells), blocks, {}))
    for block in range(1, blocks + 1):
        for of in cells:
            gap_ms = gaps_ms[of.transport] * (1 + block / 1000)
            # As many as come in a window: the streams are always on their way.
            items = int(of.concurrency * WINDOW_S * 1000 / gap_ms)
            streams = max(items // 100, 25)
            times: dict[Clock, Sequence[float]] = {
                "first_item": [3 * gap_ms] * streams,
                "gap": [gap_ms] * (items - streams),
                "service": [102 * gap_ms] * streams,
            }
            writer.add(record_of(writer.folder, of, file_of(times), block))
    return load_run(writer.folder)
