"""Two runs that were compared, as one object: terminal and page show it, and programs get it as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirebench.analysis.compare_runs import RunComparison
from wirebench.errors import pluralise
from wirebench.model.run_info import RunInfo
from wirebench.present.answer import describe_common_factors
from wirebench.present.comparison import (
    ComparisonView,
    describe_correction,
    describe_few_blocks,
    make_comparison_view,
)
from wirebench.present.labels import describe_factors, list_some
from wirebench.present.numbers import format_multiple

#: So many cells that one run lacks are named, and so many notes of the runs.
_NAMED_MAX, _NOTES_MAX = 6, 20
#: A machine whose speeds lie within it is as good as equally fast.
_SPEED_DIFFERENCE_SHOWN = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparisonView:
    """Two runs cell by cell; `regressions` are the cells that have become slower beyond the margin."""

    base: RunInfo
    head: RunInfo
    equivalence_margin: float
    alike: str
    summary: str
    caveats: tuple[str, ...]
    changes: tuple[ComparisonView, ...]
    regressions: tuple[str, ...]
    only_in_base: tuple[str, ...]
    only_in_head: tuple[str, ...]


def make_run_comparison_view(found: RunComparison) -> RunComparisonView:
    """Describe two runs that were compared."""
    changes = tuple(map(make_comparison_view, found.changes))
    return RunComparisonView(
        base=found.base,
        head=found.head,
        equivalence_margin=found.head.equivalence_margin,
        alike=describe_common_factors([change.subject for change in found.changes]),
        summary=_summarise(found),
        caveats=tuple(_list_caveats(found, changes)),
        changes=changes,
        regressions=tuple(change.subject.cell for change in found.regressions),
        only_in_base=tuple(cell.cell for cell in found.only_in_base),
        only_in_head=tuple(cell.cell for cell in found.only_in_head),
    )


def _summarise(found: RunComparison) -> str:
    """Say in one sentence what two runs come to."""
    counts = Counter(change.verdict for change in found.changes)
    verdicts = ", ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())
    slower = pluralise(len(found.regressions), "is", "are") if found.regressions else "none is"
    beyond = f"{slower} slower by more than {found.head.equivalence_margin * 100:g} %, significantly"
    if counts["withheld"] == len(found.changes):
        beyond = "nothing could be judged"
    return f"{pluralise(len(found.changes), 'cell')} in both runs, head against base: {verdicts}; {beyond}."


def _list_caveats(found: RunComparison, views: Sequence[ComparisonView]) -> Iterator[str]:
    """Yield what to know beside the verdicts: their correction, missing cells, the runs' notes and differences."""
    for name, run in (("base", found.base), ("head", found.head)):
        yield from _describe_incomplete(found, name, run)
    yield from filter(None, (describe_correction(views), describe_few_blocks(views)))
    for name, cells in (("base", found.only_in_base), ("head", found.only_in_head)):
        if cells:
            named = list_some([describe_factors(cell.factors) for cell in cells], _NAMED_MAX)
            yield f"Only in {name}: {'; '.join(named)}."
    if (ratio := found.reference_ratio) and max(ratio, 1 / ratio) > _SPEED_DIFFERENCE_SHOWN:
        yield (
            f"The machine took {format_multiple(ratio)} the time for a fixed piece of work in head. Verdicts hold "
            "whether figures follow the machine's speed or not; intervals are wider."
        )
    yield from list_some(list(_list_notes(found)), _NOTES_MAX)
    for of in found.differences:
        reason = f": no verdict where it counts, as {of.reason}" if of.reason else ""
        yield f"{of.name}: {of.base} in base, {of.head} in head{reason}."


def _describe_incomplete(found: RunComparison, name: str, run: RunInfo) -> Iterator[str]:
    """Say that a run lacks records, and how many: whole, it may come to something else."""
    if run.status == "complete":
        return
    sides = [change.baseline if name == "base" else change.subject for change in found.changes]
    cells = (*sides, *(found.only_in_base if name == "base" else found.only_in_head))
    measured = f"{sum(len(cell.records) for cell in cells)} of {run.cells * run.blocks} windows are measured"
    why = f" ({run.reason})" if run.reason else ""
    yield f"{name} is {'still running' if run.status == 'running' else run.status}{why}: {measured}."


def _list_notes(found: RunComparison) -> Iterator[str]:
    """Yield what the runs noted themselves; what is equal stands once."""
    for note in dict.fromkeys((*found.base.notes, *found.head.notes)):
        runs = [name for name, run in (("base", found.base), ("head", found.head)) if note in run.notes]
        yield f"Noted in {', '.join(runs)}: {note}."
