"""The table of a run on the terminal: cells grouped by operation and load, in as many lines each as the width needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import describe_situation, name_gate
from wirebench.model.metric import CAPACITIES, METRICS
from wirebench.present.numbers import ABSENT, format_metric, format_number, format_range

_SHOWN = (
    "requests", *CAPACITIES, "throughput", "mean", "p50", "p95", "p99", "max", "errors", "cpu",
    "items", "item_rate", "first_item", "gap", "item_cpu",
)  # fmt: skip
_GAP = "  "


@dataclass(frozen=True, slots=True)
class _Column:
    """A heading, a unit, and the figure of each cell."""

    heading: str
    unit: str
    figures: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(len, (self.heading, self.unit, *self.figures)))

    @property
    def is_empty(self) -> bool:
        return set(self.figures) <= {ABSENT}


@dataclass(frozen=True, slots=True)
class _Line:
    """Columns side by side, and how wide they are."""

    columns: Sequence[_Column]
    widths: Sequence[int]

    def write(self, texts: Iterable[str]) -> str:
        return "".join(f"{_GAP}{text:>{width}}" for text, width in zip(texts, self.widths, strict=False))

    def write_headings(self) -> Iterator[str]:
        yield self.write(column.heading for column in self.columns)
        if any(column.unit for column in self.columns):
            yield self.write(column.unit for column in self.columns)


def print_table(cells: Sequence[CellSummary], console: Console) -> None:
    """Print the figures of cells: no number is broken, however narrow the console is."""
    name_width = max(len(cell.name) for cell in cells)
    columns = [column for column in _make_columns(cells) if not column.is_empty]
    extra = [column for column in _make_extra_columns(cells) if not column.is_empty]
    layouts = (_arrange([*columns, *extra], console.width - name_width), _arrange(columns, console.width - name_width))
    # A name has a line of its own where its figures don't fit beside it.
    lines = next((layout for layout in layouts if len(layout) == 1), None) or _arrange(columns, console.width)
    indent = name_width if any(lines == layout for layout in layouts if len(layout) == 1) else 0

    def show(text: str, style: str = "") -> None:
        console.print(text.rstrip(), style=style, soft_wrap=True)

    for heading in (heading for line in lines for heading in line.write_headings()):
        show(" " * indent + heading, "bold")
    titles = [describe_situation(cell.factors) for cell in cells]
    for title, group in itertools.groupby(enumerate(cells), lambda each: titles[each[0]]):
        if len(set(titles)) > 1:
            show(title, "bold")
        for row, cell in group:
            figures = [line.write(column.figures[row] for column in line.columns) for line in lines]
            show("\n".join([f"{cell.name:{indent}}{figures[0]}"] if indent else [cell.name, *figures]))
            if failed := [name_gate(gate.name) for gate in cell.failed_gates()]:
                show(f"{_GAP}! failed gates: {', '.join(failed)}", "yellow")
    blocks = max(len(cell.records) for cell in cells)
    if blocks > 1:
        show(f"Requests and errors are sums of {blocks} blocks, latencies of all requests; others are geometric means.")


def _arrange(columns: Sequence[_Column], width: int) -> list[_Line]:
    """Spread columns over as few lines as fit into the width, below each other on one grid."""
    for in_line in range(len(columns), 0, -1):
        parts = [columns[first : first + in_line] for first in range(0, len(columns), in_line)]
        widths = [max(column.width for column in together if column) for together in itertools.zip_longest(*parts)]
        if in_line == 1 or sum(each + len(_GAP) for each in widths) <= width:
            return [_Line(part, widths) for part in parts]
    return []


def _make_columns(cells: Sequence[CellSummary]) -> Iterator[_Column]:
    for metric in map(METRICS.__getitem__, _SHOWN):
        figures = tuple(format_metric(metric, cell.figure(metric)) for cell in cells)
        yield _Column(metric.column, metric.unit_label, figures)


def _make_extra_columns(cells: Sequence[CellSummary]) -> Iterator[_Column]:
    """Yield what is shown where there is room for all of it."""
    figures: tuple[tuple[str, str, Callable[[CellSummary], str]], ...] = (
        ("blocks", "max / min", lambda cell: format_number(cell.spread(cell.rate))),
        ("p99 of", "blocks", lambda cell: format_range(cell.estimate(METRICS["p99"]))),
        ("replicas", "%", lambda cell: " / ".join(f"{share * 100:.0f}" for share in cell.replica_shares()) or ABSENT),
        ("generator", "CPU %", _format_generator_share),
        ("driver", "% of ceiling", lambda cell: format_number(cell.figure(METRICS["ceiling_share"]))),
    )
    for heading, unit, figure in figures:
        yield _Column(heading, unit, tuple(map(figure, cells)))


def _format_generator_share(cell: CellSummary) -> str:
    shares = [record.generator.cpu_share for record in cell.records if record.generator.cpu_share is not None]
    return f"{max(shares) * 100:.0f}" if shares else ABSENT
