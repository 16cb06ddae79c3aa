"""What two runs come to, as sentences: for the terminal, the API and the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.stats.across import Across, Change
from wirebench.stats.differences import Difference
from wirebench.stats.names import counted, in_common
from wirebench.stats.pair import Verdict
from wirebench.stats.ratio import CONFIDENCE
from wirebench.stats.words import gate_names, interval, least_seen, told_ratios

#: So many cells that one run lacks are named.
_NAMED_MAX = 6

_COUNTED: tuple[Verdict, ...] = ("faster", "slower", "equivalent", "inconclusive")


def sentence(change: Change) -> str:
    """Say in one sentence what has become of a cell."""
    return f"{in_common(change.subject.factors)}: {claim(change)}"


def claim(change: Change) -> str:
    """Say what has become of a cell, without its name; a whole sentence."""
    measured = told_ratios(change)
    match change.verdict:
        case "withheld":
            return f"no verdict ({withheld_for(change)}); measured {measured}."
        case "equivalent":
            return f"head and base are equivalent: {measured}."
        case "inconclusive":
            return f"inconclusive: {measured}.{_how_much_more(change)}"
        case verdict:
            return f"head is {verdict}{', beyond the margin' if change.regressed else ''}: {measured}."


def brief(change: Change) -> str:
    """Say what has become of a cell in a table: the ratio of what is judged, and the verdict or why there is none."""
    verdict = f"no verdict ({withheld_for(change)})" if change.verdict == "withheld" else change.verdict
    ratio = change.ratios.get(change.metric.name)
    return f"{interval(ratio)}: {verdict}" if ratio else verdict


def withheld_for(change: Change) -> str:
    """Say why there is no verdict."""
    failed = f"failed gates: {gate_names(change.failed_gates)}" if change.failed_gates else ""
    return "; ".join(filter(None, (*change.reasons, failed))) or "nothing to compare"


def summary(found: Across) -> str:
    """Say in one sentence what all cells together come to."""
    counts = [f"{verdict} in {count}" for verdict in _COUNTED if (count := len(found.with_verdict(verdict)))]
    said = [f"head is {', '.join(counts)}"] if counts else []
    if withheld := len(found.with_verdict("withheld")):
        said.append(f"no verdict in {withheld}")
    slower = counted(len(found.regressions), "is", "are") if found.regressions else "none is"
    beyond = f"{slower} slower by more than {found.margin * 100:g} % with certainty"
    return f"Of {counted(len(found.changes), 'cell')} in both runs, {', '.join(said)}; {beyond}."


def remarks(found: Across) -> Iterator[str]:
    """Yield what is to be known beside the verdicts: chance, cells that are missing, what the runs differ in."""
    tested = sum(change.p_value is not None for change in found.changes)
    if tested > 1:
        chance = f"up to {tested * (1 - CONFIDENCE):.1f} of {tested} verdicts are expected to say faster or slower"
        yield f"Where nothing has changed, {chance}: each has an interval of its own, at {CONFIDENCE * 100:g} %."
    if any(ratio.low is None for change in found.changes for ratio in change.ratios.values()):
        yield "One block says nothing of its own spread: for verdicts, give both runs two or more (--blocks)."
    for name, cells in (("base", found.only_in_base), ("head", found.only_in_head)):
        if cells:
            named = [in_common(cell.factors) for cell in cells[:_NAMED_MAX]]
            more = [f"{len(cells) - _NAMED_MAX} more"] if len(cells) > _NAMED_MAX else []
            yield f"Only in {name}: {'; '.join((*named, *more))}."
    for each in found.differences:
        yield difference(each)


def difference(of: Difference) -> str:
    """Say what two runs differ in, and whether it keeps their figures apart."""
    apart = f": no verdict where it counts, as {of.reason}" if of.reason else ""
    return f"{of.name}: {of.base} in base, {of.head} in head{apart}."


def _how_much_more(change: Change) -> str:
    least = least_seen(change)
    if not least:
        return ""
    head, base = (len(cell.by_block(change.metric)) for cell in (change.subject, change.baseline))
    return f" {head} against {base} blocks as noisy as these don't see differences under {least}; more blocks would."
