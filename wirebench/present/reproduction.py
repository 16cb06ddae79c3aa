"""Whether the verdicts of a run hold in another run of the same scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
    of_original, of_reproduced = _find_verdicts(original), _find_verdicts(reproduced)
    times = Counter(_make_key(each, free) for each in of_original)
    found = _index_unique(of_reproduced, free)
    repeated = ((each, _make_key(each, free)) for each in of_original)
    return Reproduction(
        original.info,
        reproduced.info,
        tuple(RepeatedComparison(each, found.get(key) if times[key] == 1 else None) for each, key in repeated),
        find_differences(original, reproduced),
    )


def _find_verdicts(run: Run) -> tuple[Comparison, ...]:
    return tuple(each for each in find_comparisons(run) if not each.instruments)


def _make_key(comparison: Comparison, free: Iterable[str]) -> tuple[object, ...]:
    sides = (comparison.subject.factors, comparison.baseline.factors)
    levels = (tuple(sorted((name, level) for name, level in side.items() if name not in free)) for side in sides)
    return comparison.factor, *levels


def _index_unique(comparisons: Iterable[Comparison], free: tuple[str, ...]) -> dict[tuple[object, ...], Comparison]:
    by_key: dict[tuple[object, ...], list[Comparison]] = {}
    for each in comparisons:
        by_key.setdefault(_make_key(each, free), []).append(each)
    return {key: same[0] for key, same in by_key.items() if len(same) == 1}


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
