"""Whether the verdicts of a run hold in another run of the same scenario."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.analysis.differences import Difference, find_differences
from wirebench.analysis.pair import Verdict
from wirebench.model.factor import CLUSTER_DEFAULTS
from wirebench.model.labels import pluralise
from wirebench.model.run_info import RunInfo
from wirebench.present.sentences import describe_situation, format_ratio, state_verdict
from wirebench.results.runs import Run

#: `open`: undecided, as one of the two sides has no verdict.
Outcome = Literal["held", "contradicted", "open"]

_CONCLUSIVE: Final[tuple[Verdict, ...]] = ("faster", "slower", "equivalent")
_WORDS: Final[dict[Outcome, str]] = {"held": "held", "contradicted": "NOT HELD", "open": "undecided"}


@dataclass(frozen=True, slots=True)
class RepeatedComparison:
    """A comparison of the original run, and the same one of the reproduced run; None if it wasn't made."""

    original: Comparison
    reproduced: Comparison | None

    @property
    def outcome(self) -> Outcome:
        """What became of the verdict: two contradict each other if both are conclusive and differ."""
        if self.reproduced is None or not {self.original.verdict, self.reproduced.verdict} <= set(_CONCLUSIVE):
            return "open"
        return "held" if self.original.verdict == self.reproduced.verdict else "contradicted"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A run, and a later one of the same scenario that is compared with it."""

    original: RunInfo
    reproduced: RunInfo
    comparisons: tuple[RepeatedComparison, ...]
    differences: tuple[Difference, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome == outcome for each in self.comparisons)

    @property
    def is_contradicted(self) -> bool:
        return self.count("contradicted") > 0


def check_reproduction(original: Run, reproduced: Run) -> Reproduction:
    """Compare the verdicts of two runs, pairing their comparisons by the factors of their cells.

    Where the targets differ, what only clusters have is left out of the factors; what can't be told apart then is
    paired with nothing. Disagreements between drivers have no verdict, and are left out.
    """
    free = () if original.info.target == reproduced.info.target else tuple(CLUSTER_DEFAULTS)
    of_original, of_reproduced = _group_by_factors(original, free), _group_by_factors(reproduced, free)
    repeated = tuple(
        RepeatedComparison(each, alike[0] if len(same) == len(alike) == 1 else None)
        for key, same in of_original.items()
        for alike in [of_reproduced.get(key, [])]
        for each in same
    )
    return Reproduction(original.info, reproduced.info, repeated, find_differences(original, reproduced))


def _group_by_factors(run: Run, free: Collection[str]) -> dict[tuple[object, ...], list[Comparison]]:
    """Return the comparisons that have a verdict by the factors of their cells, but for those that are free."""
    found: dict[tuple[object, ...], list[Comparison]] = {}
    for each in find_comparisons(run):
        if not each.instruments:
            sides = (each.subject.factors.items(), each.baseline.factors.items())
            key = (each.factor, *(frozenset(level for level in side if level[0] not in free) for side in sides))
            found.setdefault(key, []).append(each)
    return found


def describe_repetition(repeated: RepeatedComparison) -> str:
    """Say in one sentence what became of a comparison, with the figures of both sides."""
    original, reproduced = repeated.original, repeated.reproduced
    outcome = f"{_WORDS[repeated.outcome]}: {describe_situation(original)}: {state_verdict(original)}"
    figures = _format_figures(original)
    if reproduced is None:
        return f"{outcome} there, with {figures}; it wasn't compared here."
    figures_here = _format_figures(reproduced)
    if repeated.outcome == "held":
        return f"{outcome}: {figures} there, {figures_here} here."
    return f"{outcome} there, with {figures}; {state_verdict(reproduced)} here, with {figures_here}."


def _format_figures(comparison: Comparison) -> str:
    name = comparison.metric.name
    return format_ratio(comparison, name) if name in comparison.ratios else "nothing that was measured"


def summarise_reproduction(found: Reproduction) -> str:
    held, contradicted, undecided = found.count("held"), found.count("contradicted"), found.count("open")
    of = pluralise(len(found.comparisons), "comparison")
    others = f", {undecided} undecided" if undecided else ""
    if contradicted:
        return f"Not reproduced: of {of}, {contradicted} contradicted here, {held} held{others}."
    if held:
        return f"Reproduced: of {of}, {held} held here, none contradicted{others}."
    none = f"none of {of} has" if len(found.comparisons) > 1 else "no comparison has"
    return f"Undecided: {none} a verdict both there and here; more blocks may give one (--blocks)."


def describe_difference(found: Difference) -> str:
    return f"{found.name}: {found.base} there, {found.head} here"
