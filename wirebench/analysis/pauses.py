"""The parts of a run that was stopped and resumed: the records of each part, and the pauses."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wirebench.model.labels import pluralise
from wirebench.model.record import Record
from wirebench.results.runs import Run


@dataclass(frozen=True, slots=True)
class RunPart:
    """What was measured from one beginning of the run's process to its end; `records` are never none."""

    began: datetime
    records: tuple[Record, ...]

    @property
    def first_window(self) -> datetime:
        return _to_moment(min(record.window_start_unix_ns for record in self.records))

    @property
    def last_window(self) -> datetime:
        return _to_moment(max(record.window_end_unix_ns for record in self.records))

    @property
    def blocks(self) -> frozenset[int]:
        return frozenset(record.block for record in self.records)


def split_at_pauses(run: Run) -> tuple[RunPart, ...]:
    """Return the parts in which a run was measured; those that came to no record are left out."""
    moments = [datetime.fromisoformat(run.info.started_at), *(each.astimezone(UTC) for each in run.info.resumed_at)]
    by_part: dict[int, list[Record]] = {}
    for record in run.records:
        # The moments of resuming divide; what was measured before any of them is of the first part.
        by_part.setdefault(bisect(moments, _to_moment(record.window_start_unix_ns), lo=1) - 1, []).append(record)
    return tuple(RunPart(moments[number], tuple(records)) for number, records in sorted(by_part.items()))


def describe_pauses(run: Run) -> Iterator[str]:
    """Say of each pause between two parts how long it was, and which block it divides.

    The cells of a block are paired because they share the moment; those on both sides of a pause don't.
    """
    if not run.info.resumed_at:
        return
    done = 0
    planned = pluralise(run.info.cells * run.info.blocks, "window")
    for before, after in itertools.pairwise(split_at_pauses(run)):
        done += len(before.records)
        apart = timedelta(seconds=round((after.first_window - before.last_window).total_seconds()))
        stopped = f"it was stopped after {done:,} of {planned} and resumed at {after.began:%Y-%m-%d %H:%M} UTC"
        divided = " and ".join(map(str, sorted(before.blocks & after.blocks)))
        if divided:
            how = f"block {divided} was measured in two parts, {apart} (h:min:s) apart, which adds noise to its ratios"
        else:
            how = f"between two blocks, which lie {apart} (h:min:s) apart"
        yield f"{stopped}: {how}"


def _to_moment(unix_ns: int) -> datetime:
    return datetime.fromtimestamp(unix_ns / 1e9, UTC)
