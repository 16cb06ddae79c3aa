"""Verdicts as sentences, and names for cells, for the terminal and the report alike.

What a name doesn't say is the default: "gRPC" is gRPC on its first runtime, with its first codec, by its first driver.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast, get_args

from wirebench.scenario.contract import CLUSTER_DEFAULTS, Driver, Implementation, Transport, defaults
from wirebench.stats.compare import Comparison, Verdict
from wirebench.stats.ratio import Ratio
from wirebench.stats.series import Series
from wirebench.stats.summary import METRICS, CellSummary
from wirebench.store import DisruptionRecord, Gate

Factors = Mapping[str, str | int | float | None]

SUMMARY_SENTENCES_MAX = 3

#: Ratios beyond this are noise, or so clear that more digits say nothing.
_RATIO_MAX = 1000

#: Latencies over this, in milliseconds, are said without tenths.
_TENTHS_MS_MAX = 100

#: Factors that are said with a cell's transport where they aren't the default. The load is said apart.
_WITH_TRANSPORT = (
    "implementation", "runtime", "codec", "threads", "workers", "store", "connection", "tls", "replicas",
    "cpu_limit_millicores", "memory_limit_mib", "placement", "balancing", "disruption", "driver", "delay_ms",
    "jitter_ms", "bandwidth_kib_s",
)  # fmt: skip
#: Those that may differ between two transports that are compared: they are part of the transport's name.
_OF_TRANSPORT = ("runtime", "codec", "threads")

_TRANSPORTS = {"rest": "REST", "grpc": "gRPC"}
_COUNTABLE = frozenset({"workers", "threads", "replicas"})
_LEVELS = {
    "python": "in Python",
    "go": "in Go",
    "keep": "connections kept",
    "reopen": "connections reopened",
    "same-pod": "load from the same pod",
    "same-node": "load from the same node",
    "cross-node": "load from another node",
    "service": "balanced by the Service",
    "headless": "balanced by the client",
    "pod": "on one of the pods",
    "none": "left alone",
    "rolling-restart": "during a rolling restart",
    "kill-pod": "when a pod is killed",
}
_TLS = {"none": "plain text", "server": "TLS", "mutual": "mutual TLS"}
#: The same as subjects of a sentence.
_NOUNS = {
    "python": "Python",
    "go": "Go",
    "service": "balancing by the Service",
    "headless": "balancing by the client",
    "pod": "one pod alone",
    "none": "no disruption",
    "rolling-restart": "a rolling restart",
    "kill-pod": "the loss of a pod",
}
#: Factors that are said with the operation.
_OF_WORK = ("payload", "stream_items", "stream_rate_limit_per_s")
#: How factors are called below a plot over their levels.
FACTOR_LABELS = {
    "concurrency": "connections",
    "rate_per_s": "requests/s asked for",
    "payload": "payload",
    "stream_items": "items of a stream",
    "stream_rate_limit_per_s": "items/s asked for of a stream",
    "cpu_limit_millicores": "CPU limit, millicores",
    "memory_limit_mib": "memory limit, MiB",
    "delay_ms": "delay of a round trip, ms",
    "jitter_ms": "jitter, ms",
    "bandwidth_kib_s": "bandwidth of a connection, KiB/s",
}
#: What gave way where one of `series.BREAKING` failed.
_BROKEN = {
    "error_rate": "requests failed",
    "conformance": "replies were wrong",
    "counts": "driver and service counted differently",
    "connections": "some of them got no reply",
    "generator_cpu": "the load generator's CPU was full",
    "dropped_iterations": "requests were due that no connection was free for",
}
_DISRUPTIONS = {"rolling-restart": "a rolling restart of {}", "kill-pod": "the loss of one of {}"}
_SAYINGS = {
    "runtime": "on {}",
    "driver": "by {}",
    "cpu_limit_millicores": "{}m CPU",
    "memory_limit_mib": "{} MiB",
    "delay_ms": "{} ms away",
    "jitter_ms": "±{} ms",
    "bandwidth_kib_s": "at {} KiB/s",
}
#: The same as subjects of a sentence, and what it is where there is none.
_OF_LINK = {
    "delay_ms": ("a delay of {} ms", "no proxy"),
    "jitter_ms": ("a jitter of {} ms", "no jitter"),
    "bandwidth_kib_s": ("a bandwidth of {} KiB/s", "unlimited bandwidth"),
}
_THE = {
    "throughput": "the requests/s",
    "p50": "the p50",
    "p99": "the p99",
    "cpu": "the server CPU per request",
    "item_rate": "the items/s",
    "first_item": "the time to the first item",
    "gap": "the p99 gap between items",
    "item_cpu": "the server CPU per item",
}
#: What is told beside the metric that is judged.
_BESIDE = ("p99", "item_rate", "first_item", "cpu", "item_cpu")
#: What two drivers of one cell are held against each other by.
INSTRUMENT_METRICS = ("throughput", "p50", "p99")
_COUNTED: tuple[tuple[Verdict, str], ...] = (
    ("faster", "faster in"),
    ("equivalent", "equivalent in"),
    ("slower", "slower in"),
    ("inconclusive", "inconclusive in"),
    ("withheld", "no verdict in"),
)


def cell_name(factors: Factors, without: str = "") -> str:
    """Name a cell among those of the same operation and load: its transport, and what isn't the default.

    `without` is a factor that is left out.
    """
    return _named(factors, [name for name in _WITH_TRANSPORT if name != without])


def load(factors: Factors, without: str = "") -> str:
    """Say an operation and its load: what one cell shares with those that it can be compared with.

    `without` is a factor that is left out.
    """
    work = str(factors["operation"]) if without in _OF_WORK else _work(factors)
    return ", ".join(filter(None, (work, _connections(factors, without))))


def full_name(factors: Factors) -> str:
    """Name a cell among all of a run."""
    return f"{load(factors)}: {cell_name(factors)}"


def summary(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say in one sentence a pair what all its comparisons come to; at most `SUMMARY_SENTENCES_MAX` sentences."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        if not comparison.instruments:
            pairs.setdefault(_names(comparison), []).append(comparison)
    sentences = [_pair_sentence(*names, pair) for names, pair in pairs.items()]
    if len(sentences) > SUMMARY_SENTENCES_MAX:
        shown = sentences[: SUMMARY_SENTENCES_MAX - 1]
        return (*shown, f"{len(sentences) - len(shown)} more pairs were compared.")
    return tuple(sentences)


def agreement(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say of each two drivers of the same cells, in one sentence, between which ratios their figures lie."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.instruments and comparison.ratios:
            pairs.setdefault(_names(comparison), []).append(comparison)
    return tuple(
        f"{subject} measured {_ranges(pair, INSTRUMENT_METRICS)} of {baseline}, over {counted(len(pair), 'situation')}."
        for (subject, baseline), pair in pairs.items()
    )


def sentence(comparison: Comparison) -> str:
    """Say in one sentence what a comparison supports."""
    return f"{situation(comparison)}: {claim(comparison)}"


def situation(comparison: Comparison) -> str:
    """Name what both cells share: the operation, the load, and what else isn't the default."""
    factors = comparison.subject.factors
    own = {comparison.factor, *(_OF_TRANSPORT if comparison.factor == "transport" else ())}
    owner = f"{transport_name(factors)} " if comparison.factor != "transport" else ""
    shared = [_said(name, factors) for name in _WITH_TRANSPORT if name not in own and not _is_default(name, factors)]
    return owner + ", ".join((load(factors, without=comparison.factor), *shared))


def claim(comparison: Comparison) -> str:
    """Say what a comparison supports, without the situation; a whole sentence."""
    subject, baseline = _names(comparison)
    if comparison.instruments:
        return f"on the same service, {subject} measured {_disagreement(comparison, baseline)}."
    measured = _measured(comparison)
    match comparison.verdict:
        case "withheld":
            why = (
                f"failed gates: {_gates(comparison.failed_gates)}" if comparison.failed_gates else "nothing to compare"
            )
            return f"no verdict on {subject} against {baseline} ({why}); measured {measured}."
        case "equivalent":
            return f"{subject} and {baseline} are equivalent: {measured}."
        case "inconclusive":
            more = _how_much_more(comparison)
            return f"inconclusive between {subject} and {baseline}: {measured}.{more}"
        case verdict:
            return f"{subject} {_is(subject)} {verdict} than {baseline}: {measured}."


def disruptions(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Say of each cell whose replicas were disrupted what that cost."""
    return tuple(sentence for cell in cells if (sentence := _disruption(cell)))


def sweep(series: Series) -> str:
    """Say of a series over the concurrency what served the most, and what gave way first."""
    factors = series.cells[0].factors
    what = f"{cell_name(factors)}, {load(factors, without='concurrency')}"
    greatest = counted(int(series.levels[-1]), "connection")
    if series.most is None:
        return f"{what}: not one request succeeded, up to {greatest}."
    at = counted(int(series.most.factors["concurrency"] or 0), "connection")
    most = f"{what}: serves the most from {at} on ({_served(series.most)})"
    if series.first_broken is None:
        return f"{most}; nothing gave way up to {greatest}."
    cell, gate = series.first_broken
    where = counted(int(cell.factors["concurrency"] or 0), "connection")
    error = f" ({cell.errors[0]})" if cell.errors and gate.name == "error_rate" else ""
    return f"{most}; first, at {where}, {_BROKEN[gate.name]}{error}."


def _served(cell: CellSummary) -> str:
    rate = cell.typical(cell.rate) or 0.0
    ms = cell.typical(METRICS["first_item" if cell.has_streams else "p99"]) or 0.0
    time = f"{ms:,.{1 if ms < _TENTHS_MS_MAX else 0}f} ms"
    return f"{rate:,.0f} items/s, the first after {time}" if cell.has_streams else f"{rate:,.0f}/s, {time} at the p99"


def _disruption(cell: CellSummary) -> str:
    seen = [record.disruption for record in cell.records if record.disruption]
    if not seen:
        return ""
    factors = cell.factors
    replicas = counted(int(factors["replicas"] or 1), "replica")
    what = f"{transport_name(factors)}, {_DISRUPTIONS[seen[0].kind].format(replicas)} under {load(factors)}"
    requests = sum(record.requests_total for record in cell.records)
    failed = sum(each.failed_requests for each in seen)
    lost = f"none of {requests:,} requests failed"
    if failed:
        recovery = _from_to([each.recovery_s for each in seen])
        lost = f"{failed:,} of {requests:,} requests failed, the last of them {recovery} s after it began"
    slowest_ms = max(
        (latency.max_ms for record in cell.records if (latency := record.response or record.service)), default=0
    )
    ready = _from_to([_lasted_s(each) for each in seen])
    return (
        f"{what}: {lost}; the slowest answer took {slowest_ms:,.0f} ms; all replicas were ready again after {ready} s."
    )


def _lasted_s(disruption: DisruptionRecord) -> float:
    return (disruption.end_unix_ns - disruption.start_unix_ns) / 1e9


def _from_to(values: Sequence[float]) -> str:
    return "–".join(dict.fromkeys(f"{value:.1f}" for value in (min(values), max(values))))


def proxy_cost(cells: Iterable[CellSummary]) -> str:
    """Say what the proxy that loads went through costs by itself; nothing if there was none."""
    seen = [(transport_name(cell.factors), record.proxy) for cell in cells for record in cell.records if record.proxy]
    if not seen:
        return ""
    by_transport: dict[str, list[float]] = {}
    for transport, proxy in seen:
        by_transport.setdefault(transport, []).append(proxy.added_ms)
    added = ", ".join(f"{statistics.median(added_ms):.2f} ms on {name}" for name, added_ms in by_transport.items())
    cpu_ms = [proxy.cpu_ms_per_request for _, proxy in seen if proxy.cpu_ms_per_request is not None]
    cpu = f", and {statistics.median(cpu_ms) * 1000:.0f} µs of CPU time on the load tool's cores" if cpu_ms else ""
    return f"The proxy itself adds at the median {added} to a call{cpu}; neither is subtracted."


def caveat(comparisons: Sequence[Comparison]) -> str:
    """Say what holds for the comparisons that were measured in one block only; nothing if none was."""
    without = [each for each in comparisons if any(ratio.low is None for ratio in each.ratios.values())]
    if not without:
        return ""
    which = "" if len(without) == len(comparisons) else f" of {counted(len(without), 'comparison')} here"
    return f"One block says nothing of its own spread, so that there is no verdict{which}: run two or more (--blocks)."


def counted(count: int, noun: str, plural: str = "") -> str:
    """Say how many there are: `1 cell`, `2 cells`; `plural` is that of a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def capitalised(text: str) -> str:
    """Begin a sentence with a capital, unless its first word is a name that has its own way (gRPC, k6, users.get)."""
    first = text.split(" ", maxsplit=1)[0]
    is_word = first.isalpha() and first.islower() and first not in get_args(Driver)
    return text[:1].upper() + text[1:] if is_word else text


def transport_name(factors: Factors) -> str:
    """Write a cell's transport as people do."""
    level = str(factors["transport"])
    return _TRANSPORTS.get(level, level)


def interval(ratio: Ratio) -> str:
    """Write a ratio with its interval, if it has one."""
    if ratio.low is None or ratio.high is None:
        return f"{_number(ratio.estimate)}×"
    return f"{_number(ratio.estimate)}× (95 % CI {_number(ratio.low)}–{_number(ratio.high)})"


def unfit(comparison: Comparison, metric: str) -> tuple[Gate, ...]:
    """Return the gates that failed in either cell and that this metric depends on, one of each name."""
    cells = (comparison.baseline, comparison.subject)
    return tuple({gate.name: gate for cell in cells for gate in cell.failed_gates(METRICS[metric])}.values())


def gate_name(name: str) -> str:
    """Write a gate's name as words."""
    return name.replace("_", " ").replace("cpu", "CPU")


def _named(factors: Factors, names: Sequence[str]) -> str:
    said = [_said(name, factors) for name in names if not _is_default(name, factors)]
    return f"{transport_name(factors)} {', '.join(said)}".strip()


def _is_default(name: str, factors: Factors) -> bool:
    default = defaults(cast("Transport", factors["transport"]), cast("Implementation", factors["implementation"]))[name]
    return factors[name] in (default, CLUSTER_DEFAULTS.get(name, default))


def _said(name: str, factors: Factors) -> str:
    level = factors[name]
    if name == "tls":
        return _TLS[str(level)]
    if name in _COUNTABLE:
        return f"{level or 'default'} {name if level != 1 else name.removesuffix('s')}"
    return _LEVELS.get(str(level)) or _SAYINGS.get(name, "with {}").format(level)


def _names(comparison: Comparison) -> tuple[str, str]:
    """Name the two sides of a comparison by what differs."""
    cells = (comparison.subject.factors, comparison.baseline.factors)
    match comparison.factor:
        case "transport":
            subject, baseline = (_named(factors, _OF_TRANSPORT) for factors in cells)
        case "runtime" | "driver" | "store" | "codec":
            subject, baseline = comparison.subject_level, comparison.baseline_level
        case "tls":
            subject, baseline = (_said("tls", factors) for factors in cells)
        case "delay_ms" | "jitter_ms" | "bandwidth_kib_s" as factor:
            subject, baseline = (_of_link(factor, factors[factor]) for factors in cells)
        case "concurrency":
            subject, baseline = (counted(int(factors["concurrency"] or 0), "connection") for factors in cells)
        case "payload":
            subject, baseline = (_payload_noun(factors["payload"]) for factors in cells)
        case factor:
            subject, baseline = (_NOUNS.get(str(factors[factor])) or _said(factor, factors) for factors in cells)
    return subject, baseline


def _of_link(factor: str, level: object) -> str:
    some, none = _OF_LINK[factor]
    return none if level is None else some.format(level)


def _is(subject: str) -> str:
    return "are" if subject.split(" ", maxsplit=1)[0].isdigit() and not subject.startswith("1 ") else "is"


def _work(factors: Factors) -> str:
    operation, payload = str(factors["operation"]), factors["payload"]
    if factors["stream_items"]:
        return f"{operation} ({_items(factors)})"
    return f"{operation} ({_payload(payload)})" if payload else operation


def _items(factors: Factors) -> str:
    limit = factors["stream_rate_limit_per_s"]
    at = f"{limit:,}/s each" if limit else "as fast as they are read"
    return f"{counted(int(factors['stream_items'] or 0), 'item')}, {at}"


def _payload_noun(level: object) -> str:
    return f"a payload of {_payload(level)}" if level else "the payload that is usual"


def _payload(level: object) -> str:
    return f"{level:,}" if isinstance(level, int) else str(level)


def _connections(factors: Factors, without: str = "") -> str:
    count = factors["concurrency"]
    connections = counted(int(count or 0), "connection")
    if factors["connections"] and without != "connections":
        connections = f"{counted(int(count or 0), 'user')} on {counted(int(factors['connections']), 'connection')}"
    if without == "concurrency":
        connections = ""
    return " over ".join(filter(None, (_rate(factors, without), connections)))


def _rate(factors: Factors, without: str) -> str:
    if factors["shape"] == "replay":
        return "a recording"
    if not factors["rate_per_s"] or without == "rate_per_s":
        return "a ramp" if factors["shape"] else ""
    return f"{'a ramp to ' if factors['shape'] else ''}{factors['rate_per_s']:g} requests/s"


def _measured(comparison: Comparison) -> str:
    names = (comparison.metric.name, *(name for name in _BESIDE if name != comparison.metric.name))
    parts = [
        f"{interval(comparison.ratios[name])} {_THE[name]}{_doubt(comparison, name)}"
        for name in names
        if name in comparison.ratios
    ]
    return ", ".join(parts) or "nothing"


def _doubt(comparison: Comparison, name: str) -> str:
    """Say which gates failed for a figure that is told beside the verdict."""
    failed = _gates(unfit(comparison, name))
    return f" (don't rely on it: {failed})" if failed and comparison.verdict != "withheld" else ""


def _disagreement(comparison: Comparison, other: str) -> str:
    parts = []
    for name in INSTRUMENT_METRICS:
        if ratio := comparison.ratios.get(name):
            failed = _gates(unfit(comparison, name))
            parts.append(f"{interval(ratio)} {_THE[name]}" + (f" (don't rely on it: {failed})" if failed else ""))
    return f"{', '.join(parts)} of {other}" if parts else f"nothing to hold against {other}"


def _how_much_more(comparison: Comparison) -> str:
    ratio = comparison.ratios[comparison.metric.name]
    if ratio.detectable is None:
        return ""
    unseen = _number(min(ratio.detectable, _RATIO_MAX))
    return f" {ratio.blocks} blocks as noisy as these don't see differences under {unseen}×; more blocks would."


def _pair_sentence(subject: str, baseline: str, comparisons: Sequence[Comparison]) -> str:
    if len(comparisons) == 1:
        return sentence(comparisons[0])
    verdicts = Counter(comparison.verdict for comparison in comparisons)
    where = "in both situations" if len(comparisons) == 2 else f"in all {len(comparisons)} situations"  # noqa: PLR2004
    if len(verdicts) > 1:
        counts = [f"{words} {verdicts[verdict]}" for verdict, words in _COUNTED if verdicts[verdict]]
        counts[0] = f"{counts[0]} of {len(comparisons)} situations"
        judged = [comparison for comparison in comparisons if comparison.verdict != "withheld"]
        return f"{subject} against {baseline}: {', '.join(counts)}; measured {_ranges(judged)}."
    match comparisons[0].verdict:
        case "withheld":
            failed = _gates(gate for comparison in comparisons for gate in comparison.failed_gates)
            gates = f"failed gates: {failed}" if failed else "nothing to compare"
            return f"No verdict on {subject} against {baseline} {where} ({gates})."
        case "equivalent":
            return f"{subject} and {baseline} are equivalent {where}: {_ranges(comparisons)}."
        case "inconclusive":
            return f"Inconclusive between {subject} and {baseline} {where}: {_ranges(comparisons)}."
        case verdict:
            return f"{subject} {_is(subject)} {verdict} than {baseline} {where}: {_ranges(comparisons)}."


def _ranges(comparisons: Sequence[Comparison], names: Iterable[str] = ()) -> str:
    """Say between which ratios the situations lie: by default of the metric that is judged and of the server's CPU."""
    parts = []
    for name in names or dict.fromkeys((comparisons[0].metric.name, "cpu", "item_cpu")):
        estimates = [comparison.ratios[name].estimate for comparison in comparisons if name in comparison.ratios]
        if estimates:
            ends = dict.fromkeys((_number(min(estimates)), _number(max(estimates))))
            parts.append(f"{'–'.join(ends)}× {_THE[name]}")
    return ", ".join(parts) or "nothing"


def _gates(gates: Iterable[Gate]) -> str:
    return ", ".join(dict.fromkeys(gate_name(gate.name) for gate in gates))


def _number(value: float) -> str:
    """Write a ratio with two or three digits that count; beyond a thousand either way, only that it is beyond."""
    if value > _RATIO_MAX:
        return f">{_RATIO_MAX}"
    if value < 1 / _RATIO_MAX:
        return f"<{1 / _RATIO_MAX}"
    least_of_decimals = {0: 99.95, 1: 9.995, 2: 0.0995, 3: 0.0}  # where rounding adds a digit
    decimals = next(decimals for decimals, least in least_of_decimals.items() if value >= least)
    return f"{value:.{decimals}f}"
