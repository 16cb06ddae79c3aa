"""Comparisons as the report and the pages show them: a sentence and a picture each, by situation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.analysis.compare_cells import Comparison
from wirebench.analysis.pair import Verdict
from wirebench.model import labels as names
from wirebench.present import sentences
from wirebench.present.charts.forest import Forest
from wirebench.present.charts.svg import Drawing


@dataclass(frozen=True, slots=True)
class Claim:
    """What one comparison supports, in a sentence and as a picture."""

    verdict: Verdict
    text: str
    forest: Drawing | None


def make_claims(comparisons: Iterable[Comparison], forest: Forest | None = None) -> dict[str, list[Claim]]:
    claims: dict[str, list[Claim]] = {}
    for each in comparisons:
        text = names.capitalise(sentences.describe_verdict(each))
        claim = Claim(each.verdict, text, forest.draw(each) if forest else None)
        claims.setdefault(sentences.describe_situation(each), []).append(claim)
    return claims
