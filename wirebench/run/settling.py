"""When a run looks at its verdicts, and ends, that repeats blocks until they are settled."""

from __future__ import annotations

import math

from wirebench.analysis.compare_cells import compare_records
from wirebench.errors import UsageError
from wirebench.model.run_info import Ended, Looks
from wirebench.model.scenario import BLOCKS_MAX
from wirebench.results.runs import Run

#: Each look is after so many times the blocks of the one before: few looks, which are what the verdicts pay for.
_GROWTH = 1.5
_LIMIT_FACTOR = 8
#: Fewer have no interval.
_FIRST_MIN = 3


def schedule_looks(first: int, limit: int | None = None, duration_max_s: float | None = None) -> Looks:
    """Return looks after `first` blocks and, with ever more blocks between them, up to a limit. Raises UsageError."""
    if first < _FIRST_MIN:
        raise UsageError(
            "--until-settled: so few blocks settle nothing", f"begin with {_FIRST_MIN} or more: --blocks 4"
        )
    limit = min(_LIMIT_FACTOR * first, BLOCKS_MAX) if limit is None else limit
    if limit < first:
        raise UsageError(
            f"--max-blocks {limit}: the run begins with {first} blocks", f"raise it, or lower --blocks {first}"
        )
    looks = [first]
    while looks[-1] < limit:
        looks.append(min(math.ceil(_GROWTH * looks[-1]), limit))
    return Looks(blocks=tuple(looks), duration_max_s=duration_max_s)


def find_end(looks: Looks, run: Run, blocks: int, duration_s: float) -> Ended:
    """Return what ends a run after so many of its blocks; nothing if it continues.

    Verdicts are withheld for reasons that more blocks don't change: only inconclusive ones are waited for. Blocks may
    follow that were measured before the run was resumed, and are not looked at yet.
    """
    if blocks in looks.blocks:
        found = compare_records((each for each in run.records if each.block <= blocks), run.info)
        if not any(each.verdict == "inconclusive" and not each.instruments for each in found):
            return "settled"
        if blocks == looks.blocks[-1]:
            return "blocks"
    return "time" if looks.duration_max_s is not None and duration_s >= looks.duration_max_s else ""
