"""The cells of one run with their gates, from its records: what the index has of them as well, and more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from wirebench.stats import METRICS, CellSummary, summarise
from wirebench.stats.names import machine_name
from wirebench.stats.summary import LATENCIES, excess
from wirebench.store import Gate, Run, RunInfo
from wirebench.web.api.answers import CellGate, RunCell


def cells_of(run: Run) -> tuple[RunCell, ...]:
    """Return the cells of a run, in the order of their factors."""
    return tuple(_cell(run.info, cell) for cell in summarise(run.records))


def _cell(info: RunInfo, cell: CellSummary) -> RunCell:
    latencies = {f"{name}_latency_ms": cell.typical(metric) for name, metric in LATENCIES.items()}
    requests = sum(record.requests for record in cell.records)
    failed = sum(sum(record.errors.values()) for record in cell.records)
    streams = [record.streams for record in cell.records if record.streams]
    return RunCell(
        run_id=info.id,
        scenario=info.scenario,
        started_at=datetime.fromisoformat(info.started_at),
        target=info.target,
        machine=machine_name(info.machine),
        cell=cell.cell,
        protocol=str(cell.factors["transport"]),
        client=str(cell.factors["driver"]),
        operation=str(cell.factors["operation"]),
        concurrency=int(cell.factors["concurrency"] or 0),
        blocks=len(cell.records),
        throughput=cell.typical(METRICS["throughput"]),
        **latencies,
        cpu_ms_per_request=cell.typical(METRICS["cpu"]),
        item_rate_per_s=cell.typical(METRICS["item_rate"]),
        first_item_ms=cell.typical(METRICS["first_item"]),
        p99_item_gap_ms=cell.typical(METRICS["gap"]),
        cpu_us_per_item=cell.typical(METRICS["item_cpu"]),
        total_samples=requests,
        successful=requests - failed,
        failed=failed,
        items=sum(each.items for each in streams) if streams else None,
        failed_gates=tuple(gate.name for gate in cell.failed_gates()),
        factors=cell.factors,
        gates=tuple(_gates(cell)),
    )


def _gates(cell: CellSummary) -> Iterator[CellGate]:
    by_name: dict[str, dict[int, Gate]] = {}
    for record in cell.records:
        for gate in record.gates:
            by_name.setdefault(gate.name, {})[record.block] = gate
    for of_blocks in by_name.values():
        failed = {block: gate for block, gate in of_blocks.items() if not gate.passed}
        worst = max(failed.values(), key=excess) if failed else min(of_blocks.values(), key=excess)
        yield CellGate(failed_blocks=tuple(failed), worst=worst)
