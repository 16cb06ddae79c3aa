"""What two runs come to, as sentences: for the terminal, the API and the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.analysis.compare_runs import CellChange, RunComparison
from wirebench.analysis.differences import Difference
from wirebench.analysis.pair import Verdict
from wirebench.analysis.ratio import BLOCKS_MIN
from wirebench.model.labels import describe_factors, list_some, pluralise
from wirebench.model.run_info import RunInfo
from wirebench.present.caveats import list_run_notes
from wirebench.present.sentences import (
    describe_correction,
    describe_detectable_ratio,
    describe_machine_speed,
    explain_withheld,
    explain_withheld_pair,
    format_ratios,
    list_doubts,
)

#: So many cells that one run lacks are named.
_NAMED_MAX = 6


_COUNTED: tuple[Verdict, ...] = ("faster", "slower", "equivalent", "inconclusive")


def describe_change(change: CellChange) -> str:
    """Say what has become of a cell."""
    return f"{describe_factors(change.subject.factors)}: {_describe_verdict(change)}"


def _describe_verdict(change: CellChange) -> str:
    measured = format_ratios(change)
    match change.verdict:
        case "withheld":
            return f"no verdict ({explain_withheld_pair(change)}); measured {measured}."
        case "equivalent":
            return f"head and base are equivalent: {measured}."
        case "inconclusive":
            head, base = (len(cell.by_block(change.metric)) for cell in (change.subject, change.baseline))
            detectable = describe_detectable_ratio(change, f"{head} against {base}", " in each run")
            return f"inconclusive: {measured}.{detectable}"
        case verdict:
            return f"head is {', '.join((verdict, *_qualify_verdict(change)))}: {measured}."


def _qualify_verdict(change: CellChange) -> Iterator[str]:
    if change.regressed:
        yield "beyond the margin"
    if change.failed_gates:
        yield f"and gave way under the load ({explain_withheld(change.failed_gates)})"


def list_remarks(change: CellChange) -> Iterator[str]:
    """Yield what stands below a cell in a table."""
    yield from list_doubts(change)
    if change.verdict != "withheld" and (qualified := list(_qualify_verdict(change))):
        yield f"{change.verdict} {', '.join(qualified)}"


def summarise_comparison(found: RunComparison) -> str:
    withheld = len(found.with_verdict("withheld"))
    both = f"{pluralise(len(found.changes), 'cell')} in both runs"
    if withheld == len(found.changes):
        return f"Nothing could be judged: {both}, no verdict in {withheld}."
    counts = [f"{verdict} in {count}" for verdict in _COUNTED if (count := len(found.with_verdict(verdict)))]
    said = [f"head is {', '.join(counts)}"] if counts else []
    if withheld:
        said.append(f"no verdict in {withheld}")
    slower = pluralise(len(found.regressions), "is", "are") if found.regressions else "none is"
    beyond = f"{slower} slower by more than {found.margin * 100:g} %, significantly"
    return f"{both}: {', '.join(said)}; {beyond}."


def list_caveats(found: RunComparison) -> Iterator[str]:
    """Yield what to know beside the verdicts: their correction, missing cells, the runs' notes and differences."""
    for name, run in (("base", found.base), ("head", found.head)):
        yield from _describe_incomplete(found, name, run)
    if correction := describe_correction(found.changes):
        yield correction
    if few := _find_few_blocks(found):
        yield f"Fewer than {BLOCKS_MIN} blocks have no interval: for verdicts, give {few} more (--blocks)."
    for name, cells in (("base", found.only_in_base), ("head", found.only_in_head)):
        if cells:
            named = list_some([describe_factors(cell.factors) for cell in cells], _NAMED_MAX)
            yield f"Only in {name}: {'; '.join(named)}."
    if speed := describe_machine_speed(found.reference_ratio):
        yield f"{speed} in head. Verdicts hold whether figures follow the machine's speed or not; intervals are wider."
    yield from list_run_notes({"base": found.base, "head": found.head})
    for each in found.differences:
        yield describe_difference(each)


def describe_difference(of: Difference) -> str:
    apart = f": no verdict where it counts, as {of.reason}" if of.reason else ""
    return f"{of.name}: {of.base} in base, {of.head} in head{apart}."


def _describe_incomplete(found: RunComparison, name: str, run: RunInfo) -> Iterator[str]:
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


def _find_few_blocks(found: RunComparison) -> str:
    """Name the runs with cells that only their few blocks keep from a verdict."""
    judged = [change for change in found.changes if change.verdict != "withheld"]
    sides = {
        "base": [len(change.baseline.by_block(change.metric)) for change in judged],
        "head": [len(change.subject.by_block(change.metric)) for change in judged],
    }
    return " and ".join(name for name, blocks in sides.items() if min(blocks, default=BLOCKS_MIN) < BLOCKS_MIN)
