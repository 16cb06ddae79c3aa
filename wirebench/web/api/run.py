"""`/runs/<id>`: one run, read from its folder: provenance, cells with their gates, and what they support."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from wirebench.stats import METRICS, CellSummary, Comparison, compare, summarise, words
from wirebench.stats.names import capitalised, machine_name
from wirebench.stats.summary import LATENCIES, excess
from wirebench.store import Gate, RunInfo
from wirebench.web.api.answers import CellComparison, CellGate, RunAnswer, RunCell
from wirebench.web.api.endpoint import Asked, Endpoint


def _run(asked: Asked) -> RunAnswer:
    run = asked.catalogue.run(asked.run_id)
    cells = summarise(run.records)
    comparisons = compare(cells, run.info.compare, run.info.equivalence_margin)
    return RunAnswer(
        run=run.info,
        summary=tuple(map(capitalised, words.summary(comparisons))),
        caveat=words.caveat(comparisons),
        cells=tuple(_cell(run.info, cell) for cell in cells),
        comparisons=tuple(map(_comparison, comparisons)),
    )


RUN = Endpoint(name="run", path="/runs/{run_id}", summary="Show a run.", answer=_run, answers=RunAnswer)


def _cell(info: RunInfo, cell: CellSummary) -> RunCell:
    """Return what the index has of a cell as well, from the records."""
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


def _comparison(of: Comparison) -> CellComparison:
    return CellComparison(
        factor=of.factor,
        subject=of.subject.cell,
        baseline=of.baseline.cell,
        metric=of.metric.name,
        verdict=None if of.instruments else of.verdict,
        instruments=of.instruments,
        ratios=of.ratios,
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        sentence=words.sentence(of),
    )
