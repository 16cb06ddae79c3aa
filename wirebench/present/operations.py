"""Loads of several operations, taken apart: each operation of a cell as a cell of its own, compared as cells are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from wirebench.analysis.results import Result, describe_cells
from wirebench.analysis.summary import CellSummary
from wirebench.model.factor import Level
from wirebench.model.histogram_file import Clock
from wirebench.model.record import Gate, Latency, Record, Server, summarise_histogram
from wirebench.model.run_info import Run, RunInfo
from wirebench.present.latencies import SAMPLES_BEYOND_MIN
from wirebench.store.histograms import merge_blocks, read_histograms

_UNKNOWN = Server(cpu_us_per_request=None, cpu_s=None, memory_bytes=None, throttled_periods=None, fairness=None)


def split_operations(run: Run, cells: Iterable[CellSummary]) -> tuple[CellSummary, ...]:
    """Return each operation of the cells that have several as a cell, which is judged by its mean latency.

    Its operation is `users.get in crud`. CPU time, memory and bytes aren't known of one operation; what the driver used
    and retried is of the whole load.
    """
    return tuple(each for cell in cells for each in _split_cell(run, cell))


def _split_cell(run: Run, cell: CellSummary) -> Iterator[CellSummary]:
    names = dict.fromkeys(name for record in cell.records for name in record.operations)
    if not names:
        return
    clock: Clock = "response" if any(record.response for record in cell.records) else "service"
    histograms = read_histograms(run.folder, cell.records, clock).operations
    for name in names:
        latency = summarise_histogram(merge_blocks(histograms.get(name, {})))
        merged = {clock: latency} if latency else {}
        factors = {**cell.factors, "operation": f"{name} in {cell.factors['operation']}"}
        records = tuple(_make_record(each, name, factors, merged) for each in cell.records if name in each.operations)
        yield replace(cell, cell=f"{cell.cell}-{name}", factors=factors, records=records, judged_by="mean")


def _make_record(record: Record, name: str, factors: Mapping[str, Level], merged: Mapping[Clock, Latency]) -> Record:
    of = record.operations[name]
    failed = sum(of.errors.values())
    own = {
        "factors": factors,
        "requests": of.requests,
        "rate_achieved_per_s": (of.requests - failed) / record.window_s,
        "errors": of.errors,
        "error_texts": (),
        "service": of.service,
        "response": of.response,
        "operations": {},
        "merged": merged,
        "server": _UNKNOWN,
        "bytes_sent_per_request": None,
        "bytes_received_per_request": None,
        "gates": tuple(_check_operation(gate, of.requests, failed) for gate in record.gates),
    }
    return record.model_copy(update=own)


def _check_operation(gate: Gate, requests: int, failed: int) -> Gate:
    """Return a gate of a load for one operation of it, which may be too rare for a p99, or have most of the errors."""
    if gate.name == "samples":
        return gate.model_copy(update={"value": requests - failed, "passed": requests - failed >= gate.limit})
    if gate.name == "error_rate" and requests:
        share = max(gate.value, failed / requests)
        return gate.model_copy(update={"value": share, "passed": share <= gate.limit})
    return gate


def describe_operations(info: RunInfo, operations: Sequence[CellSummary]) -> tuple[Result, ...]:
    """Return the figures of operations, with the failed gates that their mean latency depends on."""
    return tuple(
        replace(
            row,
            p99_ms=row.p99_ms if row.successful >= 100 * SAMPLES_BEYOND_MIN else None,
            failed_gates=tuple(gate.name for gate in of.failed_gates(of.judged_metric)),
        )
        for row, of in zip(describe_cells(info, operations), operations, strict=True)
    )
