"""What a plain load came to, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from wirebench.cli.output import visible
from wirebench.measure.gates import FAIRNESS_MIN
from wirebench.measure.record import Record
from wirebench.stats.names import counted

_ERROR_TEXTS_SHOWN = 5
_LABEL_WIDTH = 11
#: Gates whose figure has a line of its own.
_SHOWN_ELSEWHERE = frozenset({"error_rate", "dropped_iterations"})
#: What to do about gates whose own advice is for scenarios: a load has options.
_ADVICE = {
    "generator_cpu": "the generator was the bottleneck: lower --concurrency or --rate",
    "rate_error": "the load was not what was asked for: lower --rate, or raise --replicas or --workers",
    "connections": "some were not open yet, or got no reply: lower --concurrency, or raise --replicas or --workers",
    "warmup": "requests took longer than the second of warm-up: lower --concurrency, or raise --replicas or --workers",
    "samples": "too few for a p99: raise --duration",
    "drift": "it had not settled: send it again, now that the service is warm, and see what else runs there",
    "shared_host": "the nodes are one machine, which hasn't the cores for all limits at once: lower --replicas",
    "replica_balance": "some replicas had most of the connections: make --concurrency a multiple of --replicas",
    "throttled_generator": "the generator met its CPU limit: lower --concurrency or --rate",
}
_OF_MAKE = "  make load-* takes these options as RATE, CONCURRENCY, DURATION, REPLICAS, WORKERS"


def print_load(record: Record, notes: Sequence[str], console: Console) -> None:
    """Print a load on what `stdout_console` gives: what was asked for, its figures, failed gates, and notes."""
    console.print(_title(record), style="bold", soft_wrap=True)
    for label, text in _figures(record):
        console.print(f"  {label:{_LABEL_WIDTH}} {text}", soft_wrap=True)
    failed = [gate for gate in record.gates if not gate.passed and gate.name not in _SHOWN_ELSEWHERE]
    for gate in failed:
        limit = f"{gate.value:.3g} {gate.unit}, limit {gate.limit:g}"
        advice = _ADVICE.get(gate.name, gate.advice)
        console.print(f"! {gate.name} ({limit}): {advice}", style="yellow", soft_wrap=True)
    if any(gate.name in _ADVICE for gate in failed):
        console.print(_OF_MAKE, style="yellow", soft_wrap=True)
    for note in notes:
        console.print(visible(note), soft_wrap=True)


def _title(record: Record) -> str:
    factors = record.factors
    load = f"{factors['rate_per_s']:,}/s on " if factors["rate_per_s"] else ""
    service = f"{counted(int(factors['replicas'] or 1), 'replica')} × {counted(int(factors['workers'] or 1), 'worker')}"
    return (
        f"{factors['transport']} {factors['operation']} by {factors['driver']}: "
        f"{load}{counted(int(factors['concurrency'] or 1), 'connection')} for {record.window_s:g} s; "
        f"{service} ({factors['runtime']})"
    )


def _figures(record: Record) -> Iterator[tuple[str, str]]:
    failed = sum(record.errors.values())
    yield "requests", f"{record.requests:,}, {record.rate_achieved_per_s:,.1f}/s succeeded{_of_asked(record)}"
    if record.dropped_iterations:
        yield "dropped", f"{record.dropped_iterations:,} that were due and never sent"
    by_code = ", ".join(f"{count:,} {code}" for code, count in sorted(record.errors.items()))
    yield "errors", f"{failed:,} ({failed / record.requests:.2%}): {by_code}" if failed else "0"
    for text in record.error_texts[:_ERROR_TEXTS_SHOWN]:
        yield "", visible(str(text))
    yield "latency", _latency(record)
    server, generator = record.server, record.generator
    if server.cpu_ms_per_request is not None:
        throttled = f", throttled in {counted(server.throttled_periods, 'period')}" if server.throttled_periods else ""
        yield "server", f"{server.cpu_ms_per_request:.3f} CPU-ms a request{throttled}"
    counts = server.requests_by_replica or {}
    for label, (name, count) in zip(("replicas", *[""] * len(counts)), counts.items(), strict=False):
        yield label, f"{name}: {count:,} ({count / max(1, sum(counts.values())):.0%})"
    if int(record.factors["workers"] or 1) > 1 and server.fairness is not None and server.fairness < FAIRNESS_MIN:
        yield "workers", f"uneven shares: Jain's index {server.fairness:.2f}, where 1 is even"
    if generator.cpu_share is not None:
        yield "generator", f"{generator.cpu_share:.0%} of its CPU limit"


def _of_asked(record: Record) -> str:
    if not record.rate_asked_per_s:
        return ""
    return (
        f" of {record.rate_asked_per_s:,.0f}/s asked for ({record.rate_achieved_per_s / record.rate_asked_per_s:.1%})"
    )


def _latency(record: Record) -> str:
    """Say the quantiles on the clock of what a user waits; ghz has none from the moment that a request was due."""
    is_response = record.rate_asked_per_s is not None and record.response is not None
    latency = record.response if is_response else record.service
    if latency is None:
        return "no request succeeded"
    clock = "from when each was due" if is_response else "from when each was sent"
    return f"p50 {latency.p50_ms:.3g} ms, p95 {latency.p95_ms:.3g} ms, p99 {latency.p99_ms:.3g} ms, {clock}"
