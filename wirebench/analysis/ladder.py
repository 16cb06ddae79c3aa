"""The codec ladder: from REST with JSON to bare frames, changing the codec or the framing at a time.

Each rung is compared with the one before it, so that a difference between two transports falls into what their codecs
make of it and what framing and framework do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.analysis.pair import CellPair, compute_paired_ratio, compute_ratios, find_failed_gates, judge
from wirebench.analysis.summary import CellSummary

#: The rungs from the top, by transport, version of HTTP and codec.
RUNGS = (
    ("rest", None, "json"),
    ("rest", None, "protobuf"),
    ("rest", 2, "protobuf"),
    ("grpc", None, "protobuf"),
    ("socket", None, "protobuf"),
    ("socket", None, "json"),
)
_FRAMINGS = {"rest": "HTTP/1.1", "grpc": "gRPC", "socket": "bare frames"}
_CODECS = {"json": "JSON", "protobuf": "protobuf"}
_RUNGS_MIN = 3
#: What comes with a transport: the rungs may differ in it.
_OWN = ("transport", "http", "codec", "runtime", "threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(CellPair):
    """A rung against the one before it; `change` says in words what is different."""

    change: str


def find_steps(cells: Iterable[CellSummary], margin: float) -> tuple[Step, ...]:
    """Return the steps of each load that has both codecs of REST, by one runtime of each transport.

    Differences within the margin make none to the asker.
    """
    by_load: dict[tuple[object, ...], dict[tuple[object, ...], CellSummary]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in _OWN)
        rung = tuple(cell.factors[name] for name in ("transport", "http", "codec"))
        by_load.setdefault(others, {}).setdefault(rung, cell)
    ladders = [
        [found[rung] for rung in RUNGS if rung in found]
        for found in by_load.values()
        if {*RUNGS[:2]} <= found.keys() and len(found.keys() & {*RUNGS}) >= _RUNGS_MIN
    ]
    steps = [_make_step(*pair, margin) for ladder in ladders for pair in itertools.pairwise(ladder)]
    return judge(steps, margin)


def _make_step(before: CellSummary, cell: CellSummary, margin: float) -> Step:
    metric, ratios = cell.judged_metric, compute_ratios(before, cell, compute_paired_ratio)
    return Step(
        subject=cell,
        baseline=before,
        metric=metric,
        ratios=ratios,
        failed_gates=find_failed_gates(before, cell, metric, ratios.get(metric.name), margin),
        margin=margin,
        change=_describe_step(before, cell),
    )


def _describe_step(before: CellSummary, cell: CellSummary) -> str:
    (old_framing, old_codec), (framing, codec) = map(_name_framing_and_codec, (before, cell))
    codecs, framings = f"{codec} for {old_codec}", f"{framing} for {old_framing}"
    if old_framing == framing:
        return f"codec: {codecs}, over {framing}"
    what = "framing" if before.factors["transport"] == cell.factors["transport"] else "framing and framework"
    if old_codec == codec:
        return f"{what}: {framings}, with {codec}"
    return f"codec, {what} at once: {framings}, {codecs}"


def _name_framing_and_codec(cell: CellSummary) -> tuple[str, str]:
    framing = "HTTP/2" if cell.factors["http"] else _FRAMINGS[str(cell.factors["transport"])]
    return framing, _CODECS[str(cell.factors["codec"])]
