"""A plain load as text: what was asked for, its figures, and the gates that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wirebench.model.labels import name_gate, pluralise
from wirebench.model.metric import METRICS
from wirebench.model.record import FAIRNESS_MIN, Record
from wirebench.model.scenario import Load
from wirebench.present.escape import escape_controls
from wirebench.present.numbers import format_minutes, format_number
from wirebench.run.plain_load import ReplicaPhase

_ERROR_TEXTS_SHOWN = 5
#: Figures of gates from here on are counts.
_COUNTS_MIN = 1000
#: k6's time begins before its connections are open, its window after that.
_WINDOW_SHARE_MIN = 0.98
#: Rates are of the last 15 s.
_PHASE_S_MIN = 10.0
#: Gates whose figure has a line of its own.
_SHOWN_ELSEWHERE = frozenset({"error_rate", "dropped_iterations"})
#: Gates that fail where many requests do, and where replicas come or go.
_OF_ERRORS = frozenset({"rate_error", "drift"})
_OF_REPLICAS = frozenset({"counts", "drift", "replica_balance"})
#: What to do about gates whose own advice is for scenarios: a load has options.
_ADVICE = {
    "generator_cpu": "the generator was the bottleneck: lower --concurrency or --rate",
    "rate_error": "the load was not what was asked for: lower --rate, or raise --replicas or --workers",
    "connections": "some were not open yet, or got no reply: lower --concurrency, or raise --replicas or --workers",
    "warmup": "the second of warm-up was over before all connections were opened and used: lower --concurrency, or "
    "raise --rate, --replicas or --workers",
    "samples": "too few for a p99: raise --duration",
    "drift": "the rate changed: send it again, now that the service is warm; see what else runs there, and whether the "
    "service is throttled",
    "shared_host": "the nodes are one machine, which hasn't the cores for all limits at once: lower --replicas",
    "replica_balance": "some replicas had most of the connections: make --concurrency a multiple of --replicas",
    "throttled_generator": "the generator met its CPU limit: lower --concurrency or --rate",
}
_OF_MAKE = "  make load-* takes these options as RATE, CONCURRENCY, DURATION, REPLICAS, WORKERS, PLACEMENT"


def list_failed_gates(record: Record, phases: Sequence[ReplicaPhase] = ()) -> Iterator[str]:
    """Yield a line for each gate that failed, with what to do about it; then which options of make that means.

    What errors or other replicas explain is left out.
    """
    names = {gate.name for gate in record.gates if not gate.passed}
    explained = _OF_ERRORS if "error_rate" in names else frozenset[str]()
    explained |= _OF_REPLICAS if len(phases) > 1 else frozenset[str]()
    failed = [gate for gate in record.gates if gate.name in names - _SHOWN_ELSEWHERE - explained]
    for gate in failed:
        value = f"{gate.value:,.0f}" if gate.value >= _COUNTS_MIN else f"{gate.value:.3g}"
        limit = f"{value} {gate.unit}, limit {gate.limit:g}"
        yield f"! {name_gate(gate.name)} ({limit}): {_ADVICE.get(gate.name, gate.advice)}"
    if any(gate.name in _ADVICE for gate in failed):
        yield _OF_MAKE


def describe_load(record: Record, asked: Load, phases: Sequence[ReplicaPhase] = ()) -> str:
    """Say what was sent to what, for how long; also what was asked for, if a driver took much less."""
    factors = record.factors
    load = f"{factors['rate_per_s']:,}/s on " if factors["rate_per_s"] else ""
    payload = f" ({factors['payload']})" if factors["payload"] is not None else ""
    placement = f" from {factors['placement']}" if factors["placement"] else ""
    replicas = pluralise(int(factors["replicas"] or 1), "replica")
    if len(phases) > 1:
        replicas = f"{' -> '.join(str(len(phase.rates)) for phase in phases)} replicas"
    service = f"{replicas} × {pluralise(int(factors['workers'] or 1), 'worker')}"
    shorter = f" of {asked.window_s:g} s" if record.window_s < _WINDOW_SHARE_MIN * asked.window_s else ""
    return (
        f"{factors['transport']} {factors['operation']}{payload} by {factors['driver']}{placement}: "
        f"{load}{pluralise(int(factors['concurrency'] or 1), 'connection')} for {record.window_s:.3g} s{shorter}; "
        f"{service} ({factors['runtime']})"
    )


def list_figures(record: Record, phases: Sequence[ReplicaPhase] = ()) -> Iterator[tuple[str, str]]:
    """Yield each figure with its label; those that follow under the same label have none.

    `phases` are those of its replicas, if Prometheus saw them.
    """
    cpu, failed = METRICS["cpu"], sum(record.errors.values())
    yield (
        METRICS["requests"].label,
        f"{record.requests:,}, {record.rate_achieved_per_s:,.1f}/s succeeded{_compare_with_asked(record)}",
    )
    if record.dropped_iterations:
        yield "dropped", f"{record.dropped_iterations:,} that were due and never sent, in warm-up and window"
    by_code = ", ".join(f"{count:,} {code}" for code, count in sorted(record.errors.items()))
    yield METRICS["errors"].label, f"{failed:,} ({failed / record.requests:.2%}): {by_code}" if failed else "0"
    for text in record.error_texts[:_ERROR_TEXTS_SHOWN]:
        yield "", escape_controls(str(text))
    if record.retried:
        yield METRICS["retried"].label, f"{record.retried:,} that were sent again"
    yield "latency", _describe_latency(record)
    if record.dropped_iterations:
        yield "", "without the dropped, which would have waited longer"
    server, generator = record.server, record.generator
    if len(phases) > 1:
        yield cpu.column, "unknown: replicas came or went"
    elif server.cpu_us_per_request is not None:
        throttled = (
            f", throttled in {pluralise(server.throttled_periods, 'period')}" if server.throttled_periods else ""
        )
        yield cpu.column, f"{format_number(server.cpu_us_per_request)} {cpu.unit}{throttled}"
    lines = list(_list_phases(phases) if len(phases) > 1 else _list_replicas(record))
    yield from zip(("replicas", *[""] * len(lines)), lines, strict=False)
    if int(record.factors["workers"] or 1) > 1 and server.fairness is not None and server.fairness < FAIRNESS_MIN:
        yield "workers", f"uneven shares: Jain's index {server.fairness:.2f}, where 1 is even"
    if generator.cpu_share is not None:
        yield "generator", f"{generator.cpu_share:.0%} of its CPU limit"


def describe_rates(rates: Mapping[str, float]) -> str:
    """Write the requests/s of each replica by the last part of its name, which no other one has."""
    if not rates:
        return "no replica"
    each = ", ".join(f"{name.rpartition('-')[2]} {rate:,.0f}/s" for name, rate in sorted(rates.items()))
    return f"{pluralise(len(rates), 'replica')}: {each}"


def _list_phases(phases: Sequence[ReplicaPhase]) -> Iterator[str]:
    """Yield the rates in each phase that was long enough for them; the others are parts of a rollout."""
    long = [phase for phase in phases if phase.end_s - phase.start_s >= _PHASE_S_MIN]
    for phase in long:
        start, end = map(format_minutes, (phase.start_s, phase.end_s))
        yield f"{start} to {end}: {describe_rates(phase.rates)}"
    if not long:
        yield f"none of these was there for {_PHASE_S_MIN:g} s, which rates need"


def _list_replicas(record: Record) -> Iterator[str]:
    """Yield the share of each replica, and in it of each worker; with the warm-up, which services can't tell."""
    counts = record.server.requests_by_replica or {}
    answered = sum(counts.values())
    if any(gate.name == "counts" and not gate.passed for gate in record.gates):
        answered = max(answered, record.requests_total)
    workers = (record.server.requests_by_worker or {}).items()
    for name, count in counts.items():
        own = [each for worker, each in workers if len(counts) == 1 or worker.startswith(f"{name}/")]
        idle = [0] * (int(record.factors["workers"] or 1) - len(own))
        shares = ", ".join(f"{each:,}" for each in sorted((*own, *idle), reverse=True))
        by_worker = f"; by worker {shares}" if int(record.factors["workers"] or 1) > 1 else ""
        yield f"{name}: {count:,} with warm-up ({count / max(1, answered):.0%}){by_worker}"
    if answered > sum(counts.values()):
        yield f"not known to these: {answered - sum(counts.values()):,}"


def _compare_with_asked(record: Record) -> str:
    if not record.rate_asked_per_s:
        return ""
    return (
        f" of {record.rate_asked_per_s:,.0f}/s asked for ({record.rate_achieved_per_s / record.rate_asked_per_s:.1%})"
    )


def _describe_latency(record: Record) -> str:
    """Describe the quantiles on the response clock where there is one; ghz has none."""
    is_response = record.rate_asked_per_s is not None and record.response is not None
    latency = record.response if is_response else record.service
    if latency is None:
        return "no request succeeded"
    clock = "from when each was due" if is_response else "from when each was sent"
    shown = map(METRICS.__getitem__, ("mean", "p50", "p95", "p99", "max"))
    figures = (f"{each.label} {format_number(getattr(latency, each.field))} {each.unit}" for each in shown)
    return f"{', '.join(figures)}, {clock}"
