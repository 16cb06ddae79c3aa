"""What a run concludes of its cells, for the terminal, the report, the API and the pages alike."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.stats import words
from wirebench.stats.compare import Comparison, compare
from wirebench.stats.names import capitalised
from wirebench.stats.remarks import sweep
from wirebench.stats.series import series
from wirebench.stats.summary import summarise
from wirebench.store import Run


def conclude(run: Run) -> tuple[Comparison, ...]:
    """Return the comparisons of a run's cells; none while it goes on.

    Who sees verdicts come and go is tempted to stop where they please.
    """
    if run.info.status == "running":
        return ()
    return compare(summarise(run.records), run.info.compare, run.info.equivalence_margin)


def answer(run: Run, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Say what a run comes to: what gave way first in a sweep, who is faster, whether and how far drivers agree.

    `comparisons` are what it concludes; nothing is said while it goes on.
    """
    if run.info.status == "running":
        return ()
    sweeps = map(sweep, series(summarise(run.records), "concurrency"))
    told = (*words.cross_checks(comparisons), *words.agreement(comparisons))
    return tuple(map(capitalised, (*sweeps, *words.summary(comparisons), *told)))
