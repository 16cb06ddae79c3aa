"""When a run looks at its verdicts that repeats blocks until they are settled."""

from __future__ import annotations

import math

from wirebench.errors import UsageError
from wirebench.model.run_info import Looks
from wirebench.model.scenario import BLOCKS_MAX

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
