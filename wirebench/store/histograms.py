"""The histograms of a cell's successful requests, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import CLOCKS, OK, Clock, HistogramFile
from wirebench.model.record import Latency, Record, summarise_histogram


@dataclass(frozen=True, slots=True)
class CellHistograms:
    """Histograms by block, of each operation; the first of them, None, is all operations of a load that has several.

    `problems` says of each record whose histograms can't be read why.
    """

    operations: Mapping[str | None, Mapping[int, Histogram]]
    problems: tuple[str, ...]


def read_histograms(folder: Path, records: Iterable[Record], clock: Clock) -> CellHistograms:
    """Read the histograms of a cell's records on a clock from the run's folder."""
    operations: dict[str | None, dict[int, Histogram]] = {}
    problems, read = [], []
    records = tuple(records)
    for record in records:
        try:
            file = HistogramFile.read(folder / record.histogram_file)
            chosen = [each for each in file.series if each.code == OK and each.clock == clock]
            found = [(each.operation, Histogram.decode(each.histogram)) for each in chosen]
        except (WirebenchError, ValueError) as error:
            problems.append(f"{record.id}: {str(error).replace(f'{folder}/', '')}")
            continue
        read.append((record, found))
    # A block may have met one operation of several.
    names = {name for _, found in read for name, _ in found}
    has_several = len(names) > 1 or any(record.operations for record in records)
    for record, found in read:
        for name, histogram in found:
            for operation in (None, name) if has_several else (name,):
                blocks = operations.setdefault(operation, {})
                blocks[record.block] = blocks.get(record.block, Histogram.empty()) + histogram
    return CellHistograms(operations, tuple(problems))


def merge_blocks(blocks: Mapping[int, Histogram]) -> Histogram:
    return sum(blocks.values(), start=Histogram.empty())


def merge_latencies(folder: Path, records: Iterable[Record]) -> dict[Clock, Latency]:
    """Return the latencies of a cell's records by clock; none if the histograms of one of them can't be read."""
    try:
        files = [HistogramFile.read(folder / record.histogram_file) for record in records]
        merged = {
            clock: sum((file.merge_histograms(clock) for file in files), start=Histogram.empty()) for clock in CLOCKS
        }
    except (WirebenchError, ValueError):
        return {}
    return {clock: latency for clock, histogram in merged.items() if (latency := summarise_histogram(histogram))}
