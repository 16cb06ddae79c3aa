"""What a run supports, from its records: sentences, verdicts, gates, and what exactly was run."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.report.facts import Facts, command, facts
from wirebench.report.gates import FailedGate, failed_gates
from wirebench.stats import Verdict, answer, conclude, names, remarks, summarise, words
from wirebench.stats.parts import doubts
from wirebench.store import Run, load_run

#: The summaries of so many runs are kept.
_KEPT_MAX = 64


@dataclass(frozen=True, slots=True)
class Claim:
    """What one comparison supports."""

    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What the page of a run says; `claims` by situation."""

    summary: tuple[str, ...]
    caveat: str
    #: What makes the figures less sure.
    doubts: tuple[str, ...]
    claims: Mapping[str, Sequence[Claim]]
    disruptions: tuple[str, ...]
    uneven_workers: str
    failed_gates: tuple[FailedGate, ...]
    command: str
    facts: tuple[Facts, ...]


def summary(folder: Path) -> tuple[str, ...]:
    """Say in a few sentences what the run in a folder comes to, and how little one block says; or nothing.

    What was said last is kept: a run may have thousands of records. Raises WirebenchError if it can't be read.
    """
    return _summary(folder, changed_ns(folder))


@functools.lru_cache(maxsize=_KEPT_MAX)
def _summary(folder: Path, changed_ns: int) -> tuple[str, ...]:  # noqa: ARG001 - what has changed is said anew
    run = load_run(folder)
    comparisons = conclude(run)
    return (*answer(run, comparisons), *filter(None, [words.caveat(comparisons)]))


def changed_ns(folder: Path) -> int:
    """Return when something was last written to a run, in nanoseconds; 0 for what isn't there."""
    paths = (folder / name for name in ("run.json", "records"))
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)


def findings(run: Run) -> Findings:
    """Work out all that the page of a run says."""
    cells = summarise(run.records)
    comparisons = conclude(run)
    claims: dict[str, list[Claim]] = {}
    for each in comparisons:
        if not each.instruments:
            claim = Claim(each.verdict, names.capitalised(words.claim(each)))
            claims.setdefault(words.situation(each), []).append(claim)
    return Findings(
        summary=answer(run, comparisons),
        caveat=words.caveat(comparisons),
        doubts=doubts(run),
        claims=claims,
        disruptions=remarks.disruptions(cells),
        uneven_workers=remarks.uneven_workers(cells),
        failed_gates=failed_gates(cells),
        command=command(run.info),
        facts=facts(run),
    )
