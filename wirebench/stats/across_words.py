"""What two runs come to, as sentences: for the terminal, the API and the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.stats.across import Across, Change
from wirebench.stats.differences import Difference
from wirebench.stats.names import counted, in_common
from wirebench.stats.pair import Verdict
from wirebench.stats.ratio import CONFIDENCE
from wirebench.stats.words import how_much_more, interval, told_ratios, why_withheld
from wirebench.store import RunInfo

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
            return f"inconclusive: {measured}.{how_much_more(change, _blocks(change))}"
        case verdict:
            return f"head is {verdict}{', beyond the margin' if change.regressed else ''}: {measured}."


def brief(change: Change) -> str:
    """Say what has become of a cell in a table: the ratio of what is judged, and the verdict or why there is none."""
    verdict = f"no verdict ({withheld_for(change)})" if change.verdict == "withheld" else change.verdict
    ratio = change.ratios.get(change.metric.name)
    return f"{interval(ratio)}: {verdict}" if ratio else verdict


def withheld_for(change: Change) -> str:
    """Say why there is no verdict."""
    return "; ".join(filter(None, (*change.reasons, why_withheld(change.failed_gates)))) or "nothing to compare"


def summary(found: Across) -> str:
    """Say in one sentence what all cells together come to."""
    withheld = len(found.with_verdict("withheld"))
    both = f"{counted(len(found.changes), 'cell')} in both runs"
    if withheld == len(found.changes):
        return f"Nothing could be judged: of {both}, no verdict in {withheld}."
    counts = [f"{verdict} in {count}" for verdict in _COUNTED if (count := len(found.with_verdict(verdict)))]
    said = [f"head is {', '.join(counts)}"] if counts else []
    if withheld:
        said.append(f"no verdict in {withheld}")
    slower = counted(len(found.regressions), "is", "are") if found.regressions else "none is"
    beyond = f"{slower} slower by more than {found.margin * 100:g} % with certainty"
    return f"Of {both}, {', '.join(said)}; {beyond}."


def remarks(found: Across) -> Iterator[str]:
    """Yield what is to be known beside the verdicts: chance, cells that are missing, what the runs differ in."""
    for name, run in (("base", found.base), ("head", found.head)):
        yield from _not_whole(found, name, run)
    tested = sum(change.p_value is not None for change in found.changes)
    if tested > 1:
        chance = f"up to {tested * (1 - CONFIDENCE):.1f} of {tested} verdicts are expected to say faster or slower"
        yield f"Where nothing has changed, {chance}: each has an interval of its own, at {CONFIDENCE * 100:g} %."
    if single := _with_one_block(found):
        yield f"One block says nothing of its own spread: for verdicts, give {single} two or more (--blocks)."
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


def _not_whole(found: Across, name: str, run: RunInfo) -> Iterator[str]:
    """Say that a run lacks records, and how many: by what it has, it may be another run than it would be whole."""
    if run.status == "complete":
        return
    if name == "base":
        cells = (*(change.baseline for change in found.changes), *found.only_in_base)
    else:
        cells = (*(change.subject for change in found.changes), *found.only_in_head)
    measured = f"{sum(len(cell.records) for cell in cells)} of {run.cells * run.blocks} windows are measured"
    why = f" ({run.reason})" if run.reason else ""
    yield f"{name} is {'still running' if run.status == 'running' else run.status}{why}: {measured}."


def _with_one_block(found: Across) -> str:
    """Name the runs with cells that only their single block keeps from a verdict."""
    judged = [change for change in found.changes if change.verdict != "withheld"]
    sides = {
        "base": [len(change.baseline.by_block(change.metric)) for change in judged],
        "head": [len(change.subject.by_block(change.metric)) for change in judged],
    }
    return " and ".join(name for name, blocks in sides.items() if 1 in blocks)


def _blocks(change: Change) -> str:
    head, base = (len(cell.by_block(change.metric)) for cell in (change.subject, change.baseline))
    return f"{head} against {base}"
