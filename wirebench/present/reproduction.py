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

#: `open`: nothing can be said, as one of the two sides has no verdict.
Outcome = Literal["held", "contradicted", "open"]

_CONCLUSIVE: Final[tuple[Verdict, ...]] = ("faster", "slower", "equivalent")
_WORDS: Final[dict[Outcome, str]] = {"held": "held", "contradicted": "NOT HELD", "open": "can't be said"}


@dataclass(frozen=True, slots=True)
class Repeated:
    """A comparison that was made there, and the same one here; None if it wasn't made."""

    there: Comparison
    here: Comparison | None

    @property
    def outcome(self) -> Outcome:
        """What became of the verdict: two contradict each other if both are conclusive and differ."""
        if self.here is None or not {self.there.verdict, self.here.verdict} <= set(_CONCLUSIVE):
            return "open"
        return "held" if self.there.verdict == self.here.verdict else "contradicted"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A run, and a later one of the same scenario that is compared with it."""

    there: RunInfo
    here: RunInfo
    repeated: tuple[Repeated, ...]
    differences: tuple[Difference, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome == outcome for each in self.repeated)

    @property
    def is_contradicted(self) -> bool:
        return self.count("contradicted") > 0


def check_reproduction(there: Run, here: Run) -> Reproduction:
    """Hold a run's comparisons against those of another one, by the factors of their cells.

    Where the targets differ, what only clusters have is left out of the factors; what can't be told apart then is
    paired with nothing. Disagreements between drivers have no verdict, and are left out.
    """
    free = () if there.info.target == here.info.target else tuple(CLUSTER_DEFAULTS)
    of_there, of_here = _comparisons(there), _comparisons(here)
    times = Counter(_key(each, free) for each in of_there)
    found = _unique(of_here, free)
    repeated = ((each, _key(each, free)) for each in of_there)
    return Reproduction(
        there.info,
        here.info,
        tuple(Repeated(each, found.get(key) if times[key] == 1 else None) for each, key in repeated),
        find_differences(there, here),
    )


def _comparisons(run: Run) -> tuple[Comparison, ...]:
    return tuple(each for each in find_comparisons(run) if not each.instruments)


def _key(comparison: Comparison, free: Iterable[str]) -> tuple[object, ...]:
    sides = (comparison.subject.factors, comparison.baseline.factors)
    levels = (tuple(sorted((name, level) for name, level in side.items() if name not in free)) for side in sides)
    return comparison.factor, *levels


def _unique(comparisons: Iterable[Comparison], free: tuple[str, ...]) -> dict[tuple[object, ...], Comparison]:
    by_key: dict[tuple[object, ...], list[Comparison]] = {}
    for each in comparisons:
        by_key.setdefault(_key(each, free), []).append(each)
    return {key: same[0] for key, same in by_key.items() if len(same) == 1}


def describe_repetition(repeated: Repeated) -> str:
    """Say in one sentence what became of a comparison, with the figures of both sides."""
    there, here = repeated.there, repeated.here
    outcome = f"{_WORDS[repeated.outcome]}: {describe_situation(there)}:"
    if here is None:
        return f"{outcome} {state_verdict(there)} there, with {_figures(there)}; it wasn't compared here."
    if repeated.outcome == "held":
        return f"{outcome} {state_verdict(there)}: {_figures(there)} there, {_figures(here)} here."
    there_is = f"{state_verdict(there)} there, with {_figures(there)}"
    return f"{outcome} {there_is}; {state_verdict(here)} here, with {_figures(here)}."


def _figures(comparison: Comparison) -> str:
    name = comparison.metric.name
    return format_ratio(comparison, name) if name in comparison.ratios else "nothing that was measured"


def summarise_reproduction(found: Reproduction) -> str:
    held, contradicted, unsaid = found.count("held"), found.count("contradicted"), found.count("open")
    of = pluralise(len(found.repeated), "comparison")
    others = f", and of {unsaid} nothing can be said" if unsaid else ""
    if contradicted:
        return f"Not reproduced: of {of}, {contradicted} came out otherwise here, {held} the same{others}."
    if held:
        return f"Reproduced: of {of}, {held} came out the same here, none otherwise{others}."
    none = f"none of {of} has" if len(found.repeated) > 1 else "no comparison has"
    return f"Nothing can be said: {none} a verdict both there and here; more blocks may give one (--blocks)."


def describe_difference(found: Difference) -> str:
    return f"{found.name}: {found.base} there, {found.head} here"
