"""Verdicts as sentences, for the terminal and the report alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wirebench.analysis.compare_cells import Comparison, Gain
from wirebench.analysis.pair import CellPair, Verdict
from wirebench.analysis.ratio import BLOCKS_MIN, LEVEL, Ratio
from wirebench.model import labels
from wirebench.model.labels import OF_TRANSPORT, describe_factors, name_by_factors, name_gate, name_level, pluralise
from wirebench.model.metric import CAPACITIES, METRICS
from wirebench.model.record import Gate
from wirebench.model.scenario import BLOCKS_MAX
from wirebench.present.numbers import ABSENT, format_ci, format_ends

SUMMARY_SENTENCES_MAX = 3

#: Ratios beyond this are noise, or so clear that more digits say nothing.
_RATIO_MAX = 1000

#: An interval whose ends are so far apart says nothing of a figure that isn't judged.
_NOISE_MIN = 100

#: What is shown beside the metric that is judged.
_BESIDE = ("p99", *CAPACITIES, "item_rate", "first_item", "cpu", "item_cpu")

#: What two drivers of one cell are compared by.
INSTRUMENT_METRICS = ("throughput", "p50", "p99", "item_rate", "first_item")
#: A machine whose speeds lie within it is as good as equally fast.
_SPEED_DIFFERENCE_SHOWN = 1.05

_COUNTED: tuple[tuple[Verdict, str], ...] = (
    ("faster", "faster in"),
    ("equivalent", "equivalent in"),
    ("slower", "slower in"),
    ("inconclusive", "inconclusive in"),
    ("withheld", "no verdict in"),
)


def summarise_comparisons(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say in one sentence a pair what all its comparisons come to; at most `SUMMARY_SENTENCES_MAX` sentences."""
    pairs = _group_by_sides(each for each in comparisons if not each.instruments)
    sentences = [_summarise_pair(*names, pair) for names, pair in pairs.items()]
    if len(sentences) > SUMMARY_SENTENCES_MAX:
        shown = sentences[: SUMMARY_SENTENCES_MAX - 1]
        return (*shown, f"{len(sentences) - len(shown)} more pairs were compared.")
    return tuple(sentences)


def describe_agreement(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say of each two drivers of the same cells, in one sentence, between which ratios their figures lie."""
    pairs = _group_by_sides(each for each in comparisons if each.instruments and each.ratios)
    return tuple(
        f"{subject} measured {_format_ranges(pair, INSTRUMENT_METRICS)} of {baseline}, "
        f"over {pluralise(len(pair), 'situation')}."
        for (subject, baseline), pair in pairs.items()
    )


def describe_comparison(comparison: Comparison) -> str:
    return f"{describe_situation(comparison)}: {describe_verdict(comparison)}"


def describe_situation(comparison: Comparison) -> str:
    """Name what both cells share: the operation, the load, and what else isn't the default or the same in all cells."""
    cell = comparison.subject
    return describe_factors(cell.factors, comparison.factor, cell.factors.keys() - cell.shared)


def describe_verdict(comparison: Comparison) -> str:
    """Say what a comparison supports, without the situation; a whole sentence."""
    if comparison.instruments:
        subject, baseline = _name_sides(comparison)
        measured = ", ".join(format_ratio(comparison, name) for name in INSTRUMENT_METRICS if name in comparison.ratios)
        disagreement = f"{measured} of {baseline}" if measured else f"nothing to compare with {baseline}"
        return f"on the same service, {subject} measured {disagreement}."
    measured = "; measured" if comparison.verdict == "withheld" else ":"
    first = f"{state_verdict(comparison)}{measured} {format_ratios(comparison)}."
    return " ".join((first, *_list_further_sentences(comparison)))


def _list_further_sentences(comparison: Comparison) -> Iterator[str]:
    """Yield what more blocks would decide, what other drivers measured, and for whom the change does more."""
    if comparison.verdict == "inconclusive":
        blocks = str(comparison.ratios[comparison.metric.name].blocks)
        if detectable := describe_detectable_ratio(comparison, blocks).strip():
            yield detectable
    yield from (f"{_describe_cross_check(comparison, check)}." for check in comparison.checks)
    yield from map(describe_gain, comparison.gains)


def name_verdict(pair: CellPair) -> str:
    """Name a verdict in a table; two drivers of one cell have none."""
    return ABSENT if pair.instruments else pair.verdict


def name_pair(comparison: Comparison) -> str:
    return " / ".join(_name_sides(comparison))


def locate_pair(pair: CellPair) -> tuple[str, str]:
    """Return under which title two cells stand, and under which name there."""
    if isinstance(pair, Comparison):
        return describe_situation(pair), name_pair(pair)
    return labels.describe_situation(pair.subject.factors), pair.subject.name


def list_metrics(pair: CellPair) -> tuple[str, ...]:
    """Return the metrics whose ratios are shown: the one of the verdict, and those beside it."""
    if pair.instruments:
        return INSTRUMENT_METRICS
    return pair.metric.name, *(name for name in _BESIDE if name != pair.metric.name)


def format_short_ratio(pair: CellPair, name: str) -> str:
    """Write a ratio and its interval for a table: `1.58× 1.46–1.71`, with `!` where a gate failed for it alone."""
    if (ratio := pair.ratios.get(name)) is None:
        return ABSENT
    ends = "" if ratio.low is None else f" {format_ends(ratio.low, ratio.high, _format_number)}"
    return f"{format_estimate(ratio.estimate)}{ends}{'!' * bool(_name_doubted_gates(pair, name))}"


def list_doubts(pair: CellPair) -> Iterator[str]:
    """Yield what stands below two cells in a table: why they have no verdict, and what isn't reliable."""
    if pair.verdict == "withheld" and not pair.instruments:
        yield f"withheld ({explain_withheld_pair(pair)})"
    by_gates: dict[str, list[str]] = {}
    for name in filter(pair.ratios.__contains__, list_metrics(pair)):
        if doubts := _name_doubted_gates(pair, name):
            by_gates.setdefault(doubts, []).append(METRICS[name].label)
    yield from (f"{' and '.join(labels)}: unreliable ({gates})" for gates, labels in by_gates.items())


def list_remarks(comparison: Comparison) -> Iterator[str]:
    """Yield what stands below a comparison in a table: doubts, and what a sentence would say besides."""
    yield from list_doubts(comparison)
    if not comparison.instruments:
        yield from _list_further_sentences(comparison)


def state_verdict(comparison: Comparison) -> str:
    """Say what a comparison comes to, without its figures: `gRPC is faster than REST`."""
    subject, baseline = _name_sides(comparison)
    match comparison.verdict:
        case "withheld":
            return f"no verdict on {subject} against {baseline} ({explain_withheld_pair(comparison)})"
        case "equivalent":
            return f"{subject} and {baseline} are equivalent"
        case "inconclusive":
            return f"inconclusive between {subject} and {baseline}"
        case verdict:
            return f"{subject} {_is(subject)} {verdict} than {baseline}"


def describe_cross_checks(comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Say in one sentence how often other drivers lead to the same verdict; nothing where none has one to hold."""
    pairs = [(each.verdict, check.verdict) for each in comparisons for check in each.checks]
    same = [verdict == of_check for verdict, of_check in pairs if "withheld" not in (verdict, of_check)]
    if not same:
        return ()
    without = len(pairs) - len(same)
    others = f"; {without} more {'has' if without == 1 else 'have'} no verdict" if without else ""
    return (f"other drivers lead to the same verdict in {sum(same)} of {pluralise(len(same), 'cross-check')}{others}.",)


def _describe_cross_check(comparison: Comparison, check: Comparison) -> str:
    metric = check.metric.name
    measured = f" ({format_ratio(check, metric)})" if metric in check.ratios else ""
    outcome = state_verdict(check)
    if check.verdict != "withheld":
        outcome = "the same verdict" if check.verdict == comparison.verdict else f"another verdict, {outcome}"
    return f"Cross-check by {' and '.join(check.drivers)}: {outcome}{measured}"


def describe_gain(gain: Gain) -> str:
    """Say for which of two services the change of a factor does more, or costs less; a whole sentence."""
    subject, baseline = (name_by_factors(each.factors, OF_TRANSPORT) for each in (gain.subject, gain.baseline))
    ratio = gain.ratios.get(gain.metric.name)
    if ratio is None:
        return f"No block has what it takes to compare what the change does for {subject} and {baseline}."
    measured = f"{subject}'s ratio of {gain.metric.label} is {format_interval(ratio)} {baseline}'s"
    match gain.verdict:
        case "withheld":
            why = explain_withheld_pair(gain)
            return f"No verdict on whether the change does more for {subject} or {baseline} ({why}); {measured}."
        case "equivalent":
            return f"The change does as much for {subject} as for {baseline}: {measured}."
        case "inconclusive":
            detectable = describe_detectable_ratio(gain, str(ratio.blocks))
            return f"Inconclusive whether the change does more for {subject} or {baseline}: {measured}.{detectable}"
        case verdict:
            does = "more" if verdict == "faster" else "less"
            return f"The change does {does} for {subject} than for {baseline}: {measured}."


def describe_few_blocks(comparisons: Sequence[Comparison]) -> str:
    """Say what holds for the comparisons that were measured in too few blocks; nothing if none was."""
    without = [each for each in comparisons if any(ratio.low is None for ratio in each.ratios.values())]
    if not without:
        return ""
    which = "" if len(without) == len(comparisons) else f" of {pluralise(len(without), 'comparison')} here"
    return f"Fewer than {BLOCKS_MIN} blocks have no interval, so that nothing is concluded{which}: run more (--blocks)."


def describe_certainty(comparisons: Sequence[Comparison]) -> str:
    """Say how far the verdicts of a run can be relied on: what they are corrected for, and where there are none."""
    return " ".join(filter(None, (describe_correction(comparisons), describe_few_blocks(comparisons))))


def format_ratios(pair: CellPair) -> str:
    """Say the ratios of two cells: that which is judged, and those that are shown beside it."""
    names = [name for name in list_metrics(pair) if name in pair.ratios]
    return ", ".join(_format_noise(pair, name) or format_ratio(pair, name) for name in names) or "nothing"


def _format_noise(pair: CellPair, name: str) -> str:
    """Say that a ratio beside the judged one is noise; empty if it isn't."""
    ratio = pair.ratios[name]
    is_noise = ratio.low is not None and ratio.high is not None and ratio.high > _NOISE_MIN * ratio.low
    return f"{METRICS[name].label} too noisy to compare" if is_noise and name != pair.metric.name else ""


def format_ratio(pair: CellPair, name: str) -> str:
    doubts = _name_doubted_gates(pair, name)
    unreliable = f" (unreliable: {doubts})" if doubts else ""
    return f"{format_interval(pair.ratios[name])} the {METRICS[name].label}{unreliable}"


def _name_doubted_gates(pair: CellPair, name: str) -> str:
    """Name the gates that failed for a figure, but for those that withhold the verdict."""
    explained = set[str]() if pair.instruments else {gate.name for gate in pair.failed_gates}
    return format_gate_names(gate for gate in pair.list_failed_gates(name) if gate.name not in explained)


def describe_detectable_ratio(pair: CellPair, blocks: str, each: str = "") -> str:
    """Say what so many blocks, in words, can't detect, and how many would; with a space before it, or nothing.

    `each` says what has as many blocks.
    """
    tests = pair.significance
    if tests is None:
        return ""
    ratio = pair.ratios[pair.metric.name]
    by_itself = (ratio.low or 1) > 1 or (ratio.high or 1) < 1
    corrected = (
        f" Alone it would be a difference, but not as one of {tests.comparisons} comparisons." if by_itself else ""
    )
    least = f"{_format_number(min(tests.detectable, _RATIO_MAX))}×"
    more = f"about {tests.blocks_needed:,}" if tests.blocks_needed else f"more than {BLOCKS_MAX:,}"
    return (
        f"{corrected} At this noise level {blocks} blocks can't detect differences below {least}; "
        f"{more}{each} would decide it."
    )


def describe_correction(pairs: Iterable[CellPair]) -> str:
    """Say what verdicts are corrected for; nothing where there is one."""
    tests = next((each.significance for each in pairs if each.significance and not each.instruments), None)
    if tests is None or tests.comparisons == 1:
        return ""
    return (
        f"Verdicts are corrected for {pluralise(tests.comparisons, 'comparison')} (Benjamini–Hochberg): "
        f"on average at most {LEVEL * 100:g} % of those that say faster or slower are wrong."
    )


def format_gate_names(failed: Iterable[Gate]) -> str:
    return ", ".join(dict.fromkeys(name_gate(gate.name) for gate in failed))


def explain_withheld(failed: Iterable[Gate]) -> str:
    """Say which gates withhold a verdict, if any does, and of the driver's error how large it is."""
    by_name: dict[str, list[Gate]] = {}
    for gate in failed:
        by_name.setdefault(gate.name, []).append(gate)
    reasons = []
    if instruments := by_name.pop("instrument", []):
        error_ms = max(gate.limit for gate in instruments)
        reasons = [f"the driver's own error there is up to {error_ms:.2g} ms, so that the difference may be its own"]
    if by_name:
        reasons.insert(0, f"failed gates: {', '.join(map(name_gate, by_name))}")
    return "; ".join(reasons)


def explain_withheld_pair(pair: CellPair) -> str:
    return "; ".join(filter(None, (*pair.reasons, explain_withheld(pair.failed_gates)))) or "nothing to compare"


def describe_machine_speed(reference_ratio: float | None) -> str:
    """Say how much longer the machine took for a fixed piece of work; nothing if about as long, or not known."""
    if reference_ratio is None or max(reference_ratio, 1 / reference_ratio) <= _SPEED_DIFFERENCE_SHOWN:
        return ""
    return f"The machine took {format_estimate(reference_ratio)} the time for a fixed piece of work"


def format_interval(ratio: Ratio) -> str:
    return f"{format_estimate(ratio.estimate)}{format_ci(ratio.low, ratio.high, _format_number)}"


def format_estimate(ratio: float) -> str:
    return f"{_format_number(ratio)}×"


def _name_sides(comparison: Comparison) -> tuple[str, str]:
    cells, factor = (comparison.subject.factors, comparison.baseline.factors), comparison.factor
    subject, baseline = (
        name_by_factors(factors, OF_TRANSPORT) if factor in ("transport", "variant") else name_level(factor, factors)
        for factors in cells
    )
    return subject, baseline


def _group_by_sides(comparisons: Iterable[Comparison]) -> dict[tuple[str, str], list[Comparison]]:
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for each in comparisons:
        pairs.setdefault(_name_sides(each), []).append(each)
    return pairs


def _is(subject: str) -> str:
    return "are" if subject.split(" ", maxsplit=1)[0].isdigit() and not subject.startswith("1 ") else "is"


def _summarise_pair(subject: str, baseline: str, comparisons: Sequence[Comparison]) -> str:
    if len(comparisons) == 1:
        return describe_comparison(comparisons[0])
    verdicts = Counter(comparison.verdict for comparison in comparisons)
    where = "in both situations" if len(comparisons) == 2 else f"in all {len(comparisons)} situations"  # noqa: PLR2004
    if len(verdicts) > 1:
        counts = [f"{words} {verdicts[verdict]}" for verdict, words in _COUNTED if verdicts[verdict]]
        counts[0] = f"{counts[0]} of {len(comparisons)} situations"
        judged = [comparison for comparison in comparisons if comparison.verdict != "withheld"]
        others = f" in the other {len(judged)}" if len(judged) > 1 else " in the other"
        measured = f"measured{others if verdicts['withheld'] else ''}: {_format_ranges(judged)}"
        return f"{subject} against {baseline}: {', '.join(counts)}; {measured}."
    if comparisons[0].verdict == "withheld":
        failed = [gate for comparison in comparisons for gate in comparison.failed_gates]
        found = Counter(name for each in comparisons for name in dict.fromkeys(gate.name for gate in each.failed_gates))
        if set(found.values()) <= {len(comparisons)}:
            reason = explain_withheld(failed) or "nothing to compare"
        else:
            reason = "failed gates: " + ", ".join(
                f"{name_gate(name)} in {count}" for name, count in found.most_common()
            )
        return f"No verdict on {subject} against {baseline} {where} ({reason})."
    return f"{state_verdict(comparisons[0])} {where}: {_format_ranges(comparisons)}."


def _format_ranges(comparisons: Sequence[Comparison], names: Iterable[str] = ()) -> str:
    """Say between which ratios the situations lie: by default of what each is judged by, and of the server's CPU."""
    judged = dict.fromkeys(comparison.metric.name for comparison in comparisons)
    parts = []
    for name in names or dict.fromkeys((*judged, "cpu", "item_cpu")):
        of = [each for each in comparisons if names or name not in judged or name == each.metric.name]
        estimates = [each.ratios[name].estimate for each in of if name in each.ratios]
        if estimates:
            ends = dict.fromkeys((_format_number(min(estimates)), _format_number(max(estimates))))
            parts.append(f"{'–'.join(ends)}× the {METRICS[name].label}")
    return ", ".join(parts) or "nothing"


def _format_number(value: float) -> str:
    """Write a ratio with two or three digits that count; beyond a thousand either way, only that it is beyond."""
    if value > _RATIO_MAX:
        return f">{_RATIO_MAX}"
    if value < 1 / _RATIO_MAX:
        return f"<{1 / _RATIO_MAX}"
    least_of_decimals = {0: 99.95, 1: 9.995, 2: 0.0995, 3: 0.0}  # where rounding adds a digit
    decimals = next(decimals for decimals, least in least_of_decimals.items() if value >= least)
    return f"{value:.{decimals}f}"
