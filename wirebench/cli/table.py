"""Tables on the terminal: rows by group, in as many lines each as the width needs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console

from wirebench.present.table import FigureTable

_GAP = "  "


#: Columns side by side: which they are, and how wide.
_Line = Sequence[tuple[int, int]]


def print_table(table: FigureTable, console: Console) -> None:
    """Print a table: no number is broken, however narrow the console is."""
    rows = [row for group in table.groups for row in group.rows]
    headings = [[column.heading for column in table.columns], [column.unit for column in table.columns]]
    name_width = max(len(row.name) for row in rows)
    widths = [max(map(len, texts)) for texts in zip(*headings, *(row.figures for row in rows), strict=True)]
    needed = [index for index, column in enumerate(table.columns) if not column.is_optional]
    beside = (_arrange(each, widths, console.width - name_width) for each in (range(len(widths)), needed))
    lines = next((layout for layout in beside if len(layout) == 1), None)
    indent = name_width if lines else 0
    # A name has a line of its own where its figures don't fit beside it.
    lines = lines or _arrange(needed, widths, console.width)

    def show(text: str, style: str = "") -> None:
        console.print(text.rstrip(), style=style, soft_wrap=True)

    for line in lines:
        for texts in headings:
            if (heading := _write(line, texts)).strip():
                show(" " * indent + heading, "bold")
    for group in table.groups:
        if len(table.groups) > 1:
            show(group.title, "bold")
        for row in group.rows:
            figures = [_write(line, row.figures) for line in lines]
            show("\n".join([f"{row.name:{indent}}{figures[0]}"] if indent else [row.name, *figures]))
        for note in group.notes:
            show(f"{_GAP}• {note}")


def _write(line: _Line, texts: Sequence[str]) -> str:
    return "".join(f"{_GAP}{texts[column]:>{width}}" for column, width in line)


def _arrange(columns: Sequence[int], widths: Sequence[int], width: int) -> list[_Line]:
    """Spread columns over as few lines as fit into the width, below each other on one grid."""
    for in_line in range(len(columns), 0, -1):
        parts = [columns[first : first + in_line] for first in range(0, len(columns), in_line)]
        grid = [
            max(widths[column] for column in together if column is not None)
            for together in itertools.zip_longest(*parts)
        ]
        if in_line == 1 or sum(each + len(_GAP) for each in grid) <= width:
            return [list(zip(part, grid, strict=False)) for part in parts]
    return []
