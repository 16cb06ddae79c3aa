"""What the API answers, as types: its JSON and its description are made of them. More fields may follow."""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.drivers.histogram_file import Clock
from wirebench.index import Result, RunRow
from wirebench.stats.compare_data import CellComparison
from wirebench.store import Gate, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """That the server answers, and the version of wirebench that does."""

    status: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Results of the newest runs first: `count` of the `total` that match. The last page has no next cursor."""

    results: tuple[Result, ...]
    count: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs, the newest first: `count` of the `total` that match. The last page has no next cursor."""

    runs: tuple[RunRow, ...]
    count: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """A gate of a cell: of the blocks where it failed the worst, or else the block that came closest to its limit."""

    failed_blocks: tuple[int, ...]
    worst: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell(Result):
    """A result with its gates."""

    gates: tuple[CellGate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """A run with its provenance, its cells with their gates, and what they support, in numbers and in sentences."""

    run: RunInfo
    summary: tuple[str, ...]
    caveat: str
    cells: tuple[RunCell, ...]
    comparisons: tuple[CellComparison, ...]


@dataclass(frozen=True, slots=True)
class Percentile:
    """The latency that so many percent of the requests don't exceed."""

    percentile: float
    latency_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHistogram:
    """The latencies of a cell's successful requests on one clock, its blocks merged exactly.

    `operation` is null where several are merged. Percentiles with fewer than 10 samples beyond them are left out.
    `hdr_histogram` is HdrHistogram's V2 compressed form in base64, of nanoseconds, with 3 significant digits.
    """

    cell: str
    operation: str | None
    clock: Clock
    blocks: int
    count: int
    min_ms: float
    mean_ms: float
    stdev_ms: float
    max_ms: float
    percentiles: tuple[Percentile, ...]
    hdr_histogram: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histograms:
    """The histograms of a run; and what could not be read of them, a line each."""

    run_id: str
    histograms: tuple[CellHistogram, ...]
    unreadable: tuple[str, ...]
