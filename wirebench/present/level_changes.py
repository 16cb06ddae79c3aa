"""Changes of level in a history, as sentences: for the terminal, programs and the page alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirebench.analysis.change_points import LevelChange, LineChanges, compute_level
from wirebench.analysis.ratio import LEVEL
from wirebench.model.labels import pluralise
from wirebench.model.metric import Metric
from wirebench.present.numbers import format_number
from wirebench.present.sentences import describe_machine_speed, format_estimate

#: So many characters tell a version from another.
VERSION_LENGTH = 12


def describe_line_changes(found: LineChanges, metric: Metric) -> tuple[str, ...]:
    """Say what has changed on a line, a sentence a change; or that nothing has, or can't be said to."""
    if found.changes:
        return tuple(describe_level_change(each, metric) for each in found.changes)
    if found.runs_searched:
        return (f"No change of level was found in {pluralise(found.runs_searched, 'run')}.",)
    longest = max(found.stretches, default=0)
    return (f"Changes of level take {found.runs_needed} runs that can be compared: there are {longest}.",)


def describe_level_change(change: LevelChange, metric: Metric) -> str:
    """Say since when a figure has been at another level, and how much that differs."""
    before, after = map(format_number, (compute_level(change.before), compute_level(change.after)))
    unit = f" {metric.unit_label}" if metric.unit_label else ""
    runs = f"{pluralise(len(change.before), 'run')} before, {len(change.after)} after"
    speed = describe_machine_speed(change.reference_ratio)
    machine = f" {speed}, too." if speed else ""
    return (
        f"{name_direction(change, metric)} since {change.first.run.id} "
        f"({change.first.version[:VERSION_LENGTH]}): {format_estimate(change.ratio)} the {metric.label}, "
        f"{before} → {after}{unit} ({runs}; p = {change.p_value:.1g}).{machine}"
    )


def name_direction(change: LevelChange, metric: Metric) -> str:
    return "faster" if (change.ratio > 1) == metric.higher_is_better else "slower"


def list_change_caveats(found: Sequence[LineChanges]) -> Iterator[str]:
    """Yield what to know beside the changes: how often they are false, and which runs weren't searched."""
    if left_out := sum(each.left_out for each in found):
        yield f"Left out of the search: {pluralise(left_out, 'run')} with failed gates, or still running."
    if any(len(each.stretches) > 1 for each in found):
        yield "Runs were searched in parts, where load or driver had changed: they can't be compared."
    margins = sorted({each.line.equivalence_margin for each in found})
    yield (
        f"Of histories without a change, at most {LEVEL * 100:g} % show one; "
        f"changes within {' or '.join(f'{each:.0%}' for each in margins)} are left out."
    )
