"""The codec ladder: from REST with JSON to bare frames, changing the codec or the framing at a time.

Each rung is compared with the one before it, so that a difference between two transports falls into what their codecs
make of it and what framing and framework do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from wirebench.analysis.pair import compute_paired_ratio, compute_ratios, find_failed_gates
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import COMPARED, Metric

#: The rungs from the top, by transport and codec.
RUNGS = (("rest", "json"), ("rest", "protobuf"), ("grpc", "protobuf"), ("socket", "protobuf"), ("socket", "json"))
_FRAMINGS = {"rest": "HTTP/1.1", "grpc": "gRPC", "socket": "bare frames"}
_CODECS = {"json": "JSON", "protobuf": "protobuf"}
_RUNGS_MIN = 3
#: What comes with a transport: the rungs may differ in it.
_OWN = ("transport", "codec", "runtime", "threads")


@dataclass(frozen=True, slots=True)
class Rung:
    """A cell, and what changed from the one before: in words, and as ratios by metric; none on the first rung."""

    cell: CellSummary
    step: str
    ratios: dict[str, Ratio]
    #: Gates that failed for a metric, here or on the rung before.
    failed_gates: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Cells with the same operation and load, from the top."""

    rungs: tuple[Rung, ...]

    def values(self, metric: Metric) -> tuple[float, ...]:
        """Return the rungs' figures, of shape (rungs,); empty if one of them wasn't measured."""
        figures = [rung.cell.figure(metric) for rung in self.rungs]
        return tuple(figure for figure in figures if figure is not None) if None not in figures else ()


def find_ladders(cells: Iterable[CellSummary], margin: float, looks: int = 1) -> tuple[Ladder, ...]:
    """Return the ladders among cells: of each load that has both codecs of REST, one runtime of each transport.

    Differences within the margin make none to the asker.
    """
    by_load: dict[tuple[object, ...], dict[tuple[str, str], CellSummary]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in _OWN)
        rung = (str(cell.factors["transport"]), str(cell.factors["codec"]))
        by_load.setdefault(others, {}).setdefault(rung, cell)
    return tuple(
        _make_ladder([found[rung] for rung in RUNGS if rung in found], margin, looks)
        for found in by_load.values()
        if {("rest", "json"), ("rest", "protobuf")} <= found.keys() and len(found) >= _RUNGS_MIN
    )


def _make_ladder(cells: list[CellSummary], margin: float, looks: int) -> Ladder:
    first = Rung(cells[0], "", {}, {})
    return Ladder((first, *(_make_rung(before, cell, margin, looks) for before, cell in itertools.pairwise(cells))))


def _make_rung(before: CellSummary, cell: CellSummary, margin: float, looks: int) -> Rung:
    measured = compute_ratios(before, cell, partial(compute_paired_ratio, looks=looks))
    failed = {
        name: tuple(gate.name for gate in find_failed_gates(before, cell, metric, measured.get(name), margin))
        for name, metric in COMPARED.items()
    }
    return Rung(cell, _describe_step(before, cell), measured, failed)


def _describe_step(before: CellSummary, cell: CellSummary) -> str:
    old, new = ((str(each.factors["transport"]), str(each.factors["codec"])) for each in (before, cell))
    codecs = f"{_CODECS[new[1]]} for {_CODECS[old[1]]}"
    framings = f"{_FRAMINGS[new[0]]} for {_FRAMINGS[old[0]]}"
    if old[0] == new[0]:
        return f"codec: {codecs}, over {_FRAMINGS[new[0]]}"
    if old[1] == new[1]:
        return f"framing and framework: {framings}, with {_CODECS[new[1]]}"
    return f"codec, framing and framework at once: {framings}, {codecs}"
