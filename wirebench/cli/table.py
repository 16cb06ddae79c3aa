"""Tables and lists on the terminal: rich wraps them at words, and no number is broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from wirebench.present.table import FigureTable

_GAP = 2
_NAME_WIDTH_MIN = 16


def print_table(table: FigureTable, console: Console, *, has_notes: bool = True) -> None:
    """Print a table with as many columns as fit; where not even those do that matter most, names are wrapped.

    What is noted of all groups is printed once, at the end.
    """
    rows = [row for group in table.groups for row in group.rows]
    widths = {
        index: _GAP + max(len(column.heading), len(column.unit), *(len(row.figures[index]) for row in rows))
        for index, column in enumerate(table.columns)
    }
    names = max(len(row.name) for row in rows)
    while names + sum(widths.values()) > console.width and (rank := max(table.columns[index].rank for index in widths)):
        del widths[max(index for index in widths if table.columns[index].rank == rank)]
    names = min(names, max(_NAME_WIDTH_MIN, console.width - sum(widths.values())))
    columns = [table.columns[index] for index in widths]
    headings = [("", *(column.heading for column in columns)), ("", *(column.unit for column in columns))]
    everywhere = set.intersection(*(set(group.notes) for group in table.groups))
    before, console.width = console.width, max(console.width, names + sum(widths.values()))
    _print_grid([heading for heading in headings if any(heading)], (names, *widths.values()), console, "bold")
    for group in table.groups:
        if len(table.groups) > 1:
            console.print(group.title, style="bold")
        figures = [(row.name, *(row.figures[index] for index in widths)) for row in group.rows]
        _print_grid(figures, (names, *widths.values()), console)
        print_list("  •", (note for note in group.notes if has_notes and note not in everywhere), console)
    console.width = before
    print_list("  •", sorted(everywhere) if has_notes else (), console)


def _print_grid(rows: Iterable[Sequence[str]], widths: Sequence[int], console: Console, style: str = "") -> None:
    grid = Table.grid(padding=0)
    for index, width in enumerate(widths):
        grid.add_column(justify="right" if index else "left", no_wrap=bool(index), width=width)
    for row in rows:
        grid.add_row(*row)
    console.print(grid, style=style)


def print_list(marker: str, texts: Iterable[str], console: Console, style: str = "") -> None:
    """Print texts as a list, whose lines are wrapped beside their markers."""
    for text in texts:
        grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(marker, text)
        console.print(grid, style=style)
