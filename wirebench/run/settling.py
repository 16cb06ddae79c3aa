"""When a run ends that is repeated until its verdicts are settled."""

from __future__ import annotations

from wirebench.analysis.compare_cells import compare_records
from wirebench.model.run_info import Ended, Looks
from wirebench.results.runs import Run


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
