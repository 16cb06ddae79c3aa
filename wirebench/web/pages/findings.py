"""What a run supports, from its records: sentences, verdicts, gates, and what exactly was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.report.facts import Facts, command, facts
from wirebench.report.gates import FailedGate, failed_gates
from wirebench.stats import Verdict, compare, names, remarks, summarise, words
from wirebench.store import Run


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
    claims: Mapping[str, Sequence[Claim]]
    agreement: tuple[str, ...]
    disruptions: tuple[str, ...]
    failed_gates: tuple[FailedGate, ...]
    command: str
    facts: tuple[Facts, ...]


def summary(run: Run) -> tuple[str, ...]:
    """Say in a few sentences what a run comes to; nothing where it compares nothing."""
    comparisons = compare(summarise(run.records), run.info.compare, run.info.equivalence_margin)
    return tuple(names.capitalised(sentence) for sentence in words.summary(comparisons))


def findings(run: Run) -> Findings:
    """Work out all that the page of a run says."""
    cells = summarise(run.records)
    comparisons = compare(cells, run.info.compare, run.info.equivalence_margin)
    claims: dict[str, list[Claim]] = {}
    for each in comparisons:
        if not each.instruments:
            claim = Claim(each.verdict, names.capitalised(words.claim(each)))
            claims.setdefault(words.situation(each), []).append(claim)
    return Findings(
        summary=tuple(map(names.capitalised, words.summary(comparisons))),
        caveat=words.caveat(comparisons),
        claims=claims,
        agreement=tuple(map(names.capitalised, words.agreement(comparisons))),
        disruptions=remarks.disruptions(cells),
        failed_gates=failed_gates(cells),
        command=command(run.info),
        facts=facts(run),
    )
