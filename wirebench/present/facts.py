"""What exactly was run on what, enough to run it again; and the gates that failed: how far, where, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirebench.analysis.differences import read_load
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.labels import name_gate, pluralise
from wirebench.model.metric import METRICS
from wirebench.model.record import Gate
from wirebench.model.run_info import RunInfo
from wirebench.model.scenario import Load
from wirebench.present.numbers import format_duration, format_moment
from wirebench.present.remarks import describe_handshakes, describe_load
from wirebench.results.runs import Run


def list_facts(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Return terms with what is to be said of them, by their heading."""
    machine = {name.replace("_", " ").replace("cpu", "CPU"): text for name, text in run.info.machine.items()}
    groups = {
        "The run": list(_list_run_facts(run)),
        "The machine": list(machine.items()),
        "Versions": list(run.info.versions.items()),
    }
    return {heading: terms for heading, terms in groups.items() if terms}


def make_repeat_command(info: RunInfo) -> str:
    """Return the command line that repeats the run; that of `wirebench` includes the seed."""
    has_seed = "--seed" in info.command or not info.command.startswith("wirebench ")
    return info.command if has_seed else f"{info.command} --seed {info.seed}"


def _list_run_facts(run: Run) -> Iterator[tuple[str, str]]:
    info = run.info
    yield "run", info.id
    yield "scenario", info.scenario
    if info.overrides:
        yield "overrides", "; ".join(info.overrides)
    if info.application:
        yield "application", info.application
    yield "target", info.target
    yield "started", format_moment(info.started_at)
    for resumed_at in info.resumed_at:
        yield "resumed", format_moment(resumed_at.isoformat())
    yield "took", _describe_duration(info)
    yield "measured", _describe_records(run)
    if load := read_load(info.scenario_text):
        yield "load", f"{describe_load(load)}; warm-up {load.warmup_s:g} s, window {_describe_window(load)}"
    yield "order", f"cells in every block shuffled by seed {info.seed}"
    yield "compared", f"levels of {info.compare}; ratios within {info.equivalence_margin:.0%} of 1 count as equivalent"
    if info.conformance_requests:
        wrong = len(info.conformance_mismatches)
        answer = pluralise(wrong, "mismatch", "mismatches") if wrong else "answered alike by all"
        when = "before the first window" + (", and again when it was resumed" if info.resumed_at else "")
        if info.application:
            when = "before the windows of each start"
        yield "conformance", f"{info.conformance_requests:,} random requests {when}: {answer}"
    if sentences := describe_handshakes(summarise(run.records)):
        yield "TLS", " ".join(sentences)
    yield "commit", info.commit or "not known"


def _describe_window(load: Load) -> str:
    return f"until all calls are made, at most {load.window_s:g} s" if load.calls else f"{load.window_s:g} s"


def _describe_duration(info: RunInfo) -> str:
    if info.duration_s is None:
        return "not known: it did not end"
    parts = [format_duration(info.duration_s)]
    if info.measured_s is not None and info.duration_s > 0:
        parts.append(f"{format_duration(info.measured_s)} of it ({info.measured_s / info.duration_s:.0%}) under load")
    if info.services_start_s is not None:
        parts.append(f"{format_duration(info.services_start_s)} starting services")
    return ", ".join(parts)


def _describe_records(run: Run) -> str:
    records, planned = len(run.records), run.info.cells * run.info.blocks
    requests = sum(record.requests for record in run.records)
    items = sum(record.streams.items for record in run.records if record.streams)
    of_streams = f", {pluralise(items, 'item')} of streams" if items else ""
    done = f"{records}" if records == planned else f"{records} of {planned}"
    return (
        f"{done} windows ({pluralise(run.info.cells, 'cell')} × {pluralise(run.info.blocks, 'block')}), "
        f"{pluralise(requests, 'request')}{of_streams}"
    )


@dataclass(frozen=True, slots=True)
class FailedGate:
    """One gate over the whole run. `worst` and `limit` are amounts in words, empty where there is only yes or no."""

    name: str
    worst: str
    limit: str
    advice: str
    metrics: str
    failures: int
    checks: int
    #: Cells, with the blocks in which the gate failed.
    where: tuple[str, ...]


def failed_gates(cells: Sequence[CellSummary]) -> tuple[FailedGate, ...]:
    """Gather the failures of all cells by gate, the most frequent first."""
    records = tuple(record for cell in cells for record in cell.records)
    failed = [
        _gather(gate, cells, checks=sum(each.name == gate.name for record in records for each in record.gates))
        for gate in CellSummary("", {}, records).failed_gates()
    ]
    return tuple(sorted(failed, key=lambda gate: -gate.failures))


def _gather(worst: Gate, cells: Sequence[CellSummary], checks: int) -> FailedGate:
    where, failures = [], 0
    for cell in cells:
        blocks = [
            str(record.block)
            for record in cell.records
            if any(gate.name == worst.name and not gate.passed for gate in record.gates)
        ]
        failures += len(blocks)
        if blocks:
            plural = "s" if len(blocks) > 1 else ""
            where.append(f"{cell.full_name} (block{plural} {', '.join(blocks)})")
    return FailedGate(
        name=name_gate(worst.name),
        worst=_format_amount(worst.value, worst.unit),
        limit=_format_amount(worst.limit, worst.unit),
        advice=worst.advice,
        metrics=", ".join(METRICS[name].label if name in METRICS else name for name in worst.metrics),
        failures=failures,
        checks=checks,
        where=tuple(where),
    )


def _format_amount(value: float, unit: str) -> str:
    if not unit:
        return ""
    if unit.startswith(("of ", "from ")):  # a share of something
        return f"{_format_digits(100 * value)} % {unit}"
    return f"{_format_digits(value)} {unit}"


def _format_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - no more digits count
