"""Verdicts as sentences, for the terminal and the report alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from wirebench.stats.compare import Comparison
from wirebench.stats.names import (
    NOUNS,
    OF_TRANSPORT,
    counted,
    gate_name,
    in_common,
    named,
    of_link,
    payload_noun,
    said,
)
from wirebench.stats.pair import Pair, Verdict
from wirebench.stats.ratio import Ratio
from wirebench.store import Gate

SUMMARY_SENTENCES_MAX = 3

#: Ratios beyond this are noise, or so clear that more digits say nothing.
_RATIO_MAX = 1000

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
    return in_common(comparison.subject.factors, comparison.factor)


def claim(comparison: Comparison) -> str:
    """Say what a comparison supports, without the situation; a whole sentence."""
    subject, baseline = _names(comparison)
    if comparison.instruments:
        return f"on the same service, {subject} measured {_disagreement(comparison, baseline)}."
    measured, said = told_ratios(comparison), answer(comparison)
    checked = "".join(f" {_cross_check(comparison, check)}." for check in comparison.checks)
    match comparison.verdict:
        case "withheld":
            return f"{said}; measured {measured}.{checked}"
        case "inconclusive":
            blocks = str(comparison.ratios[comparison.metric.name].blocks)
            return f"{said}: {measured}.{how_much_more(comparison, blocks)}{checked}"
        case _:
            return f"{said}: {measured}.{checked}"


def answer(comparison: Comparison) -> str:
    """Say what a comparison comes to, without its figures: `gRPC is faster than REST`."""
    subject, baseline = _names(comparison)
    match comparison.verdict:
        case "withheld":
            why = why_withheld(comparison.failed_gates) or "nothing to compare"
            return f"no verdict on {subject} against {baseline} ({why})"
        case "equivalent":
            return f"{subject} and {baseline} are equivalent"
        case "inconclusive":
            return f"inconclusive between {subject} and {baseline}"
        case verdict:
            return f"{subject} {_is(subject)} {verdict} than {baseline}"


def cross_checks(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say in one sentence how often other drivers lead to the same verdict; nothing where none has one to hold."""
    pairs = [(each.verdict, check.verdict) for each in comparisons for check in each.checks]
    same = [verdict == of_check for verdict, of_check in pairs if "withheld" not in (verdict, of_check)]
    if not same:
        return ()
    return (f"other drivers lead to the same verdict in {sum(same)} of {counted(len(same), 'cross-check')}.",)


def _cross_check(comparison: Comparison, check: Comparison) -> str:
    metric = check.metric.name
    measured = f" ({told_ratio(check, metric)})" if metric in check.ratios else ""
    outcome = answer(check)
    if check.verdict != "withheld":
        outcome = "the same verdict" if check.verdict == comparison.verdict else f"another verdict, {outcome}"
    return f"Cross-check by {' and '.join(check.drivers)}: {outcome}{measured}"


def caveat(comparisons: Sequence[Comparison]) -> str:
    """Say what holds for the comparisons that were measured in one block only; nothing if none was."""
    without = [each for each in comparisons if any(ratio.low is None for ratio in each.ratios.values())]
    if not without:
        return ""
    which = "" if len(without) == len(comparisons) else f" of {counted(len(without), 'comparison')} here"
    return f"One block says nothing of its own spread, so that nothing is concluded{which}: run two or more (--blocks)."


def told_ratios(pair: Pair) -> str:
    """Say the ratios of two cells: that which is judged, and those that are told beside it."""
    names = (pair.metric.name, *(name for name in _BESIDE if name != pair.metric.name))
    return ", ".join(told_ratio(pair, name) for name in names if name in pair.ratios) or "nothing"


def told_ratio(pair: Pair, name: str) -> str:
    """Say the ratio of two cells by a metric that both have."""
    return f"{interval(pair.ratios[name])} {_THE[name]}{_doubt(pair, name)}"


def _doubt(pair: Pair, name: str) -> str:
    """Say which gates failed for a figure that is told beside the verdict, but for those that withhold the verdict."""
    said = {gate.name for gate in pair.failed_gates}
    failed = gate_names([gate for gate in pair.unfit(name) if gate.name not in said])
    return f" (don't rely on it: {failed})" if failed else ""


def least_seen(pair: Pair) -> str:
    """Write the least ratio that blocks like these find of the figure that is judged; nothing without an interval."""
    detectable = pair.ratios[pair.metric.name].detectable
    return "" if detectable is None else f"{_number(min(detectable, _RATIO_MAX))}×"


def how_much_more(pair: Pair, blocks: str) -> str:
    """Say what so many blocks, in words, can't see; a sentence with a space before it, or nothing."""
    least = least_seen(pair)
    return (
        f" {blocks} blocks as noisy as these don't see differences under {least}; more blocks would." if least else ""
    )


def gate_names(failed: Iterable[Gate]) -> str:
    """Name gates as words."""
    return ", ".join(dict.fromkeys(gate_name(gate.name) for gate in failed))


def why_withheld(failed: Iterable[Gate]) -> str:
    """Say which gates withhold a verdict, if any does, and of the driver's error how large it is."""
    by_name: dict[str, list[Gate]] = {}
    for gate in failed:
        by_name.setdefault(gate.name, []).append(gate)
    reasons = []
    if instruments := by_name.pop("instrument", []):
        error_ms = max(gate.limit for gate in instruments)
        reasons = [f"the driver's own error there is up to {error_ms:.2g} ms, so that the difference may be its own"]
    if by_name:
        reasons.insert(0, f"failed gates: {', '.join(map(gate_name, by_name))}")
    return "; ".join(reasons)


def interval(ratio: Ratio) -> str:
    """Write a ratio with its interval, if it has one."""
    if ratio.low is None or ratio.high is None:
        return f"{_number(ratio.estimate)}×"
    return f"{_number(ratio.estimate)}× (95 % CI {_number(ratio.low)}–{_number(ratio.high)})"


def _names(comparison: Comparison) -> tuple[str, str]:
    """Name the two sides of a comparison by what differs."""
    cells = (comparison.subject.factors, comparison.baseline.factors)
    match comparison.factor:
        case "transport":
            subject, baseline = (named(factors, OF_TRANSPORT) for factors in cells)
        case "runtime" | "driver" | "store" | "codec":
            subject, baseline = comparison.subject_level, comparison.baseline_level
        case "tls":
            subject, baseline = (said("tls", factors) for factors in cells)
        case "delay_ms" | "jitter_ms" | "bandwidth_kib_s" as factor:
            subject, baseline = (of_link(factor, factors[factor]) for factors in cells)
        case "concurrency":
            subject, baseline = (counted(int(factors["concurrency"] or 0), "connection") for factors in cells)
        case "payload":
            subject, baseline = (payload_noun(factors["payload"]) for factors in cells)
        case factor:
            subject, baseline = (NOUNS.get(str(factors[factor])) or said(factor, factors) for factors in cells)
    return subject, baseline


def _is(subject: str) -> str:
    return "are" if subject.split(" ", maxsplit=1)[0].isdigit() and not subject.startswith("1 ") else "is"


def _disagreement(comparison: Comparison, other: str) -> str:
    parts = []
    for name in INSTRUMENT_METRICS:
        if ratio := comparison.ratios.get(name):
            failed = gate_names(comparison.unfit(name))
            parts.append(f"{interval(ratio)} {_THE[name]}" + (f" (don't rely on it: {failed})" if failed else ""))
    return f"{', '.join(parts)} of {other}" if parts else f"nothing to hold against {other}"


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
            failed = [gate for comparison in comparisons for gate in comparison.failed_gates]
            return (
                f"No verdict on {subject} against {baseline} {where} ({why_withheld(failed) or 'nothing to compare'})."
            )
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


def _number(value: float) -> str:
    """Write a ratio with two or three digits that count; beyond a thousand either way, only that it is beyond."""
    if value > _RATIO_MAX:
        return f">{_RATIO_MAX}"
    if value < 1 / _RATIO_MAX:
        return f"<{1 / _RATIO_MAX}"
    least_of_decimals = {0: 99.95, 1: 9.995, 2: 0.0995, 3: 0.0}  # where rounding adds a digit
    decimals = next(decimals for decimals, least in least_of_decimals.items() if value >= least)
    return f"{value:.{decimals}f}"
