"""Tables and lists on the terminal: rich wraps them at words, and no number is broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from wirebench.present.table import FigureTable, TableGroup

_GAP = 2


def print_table(table: FigureTable, console: Console) -> None:
    """Print a table with as many columns as fit; where not even those do that matter most, a line a figure."""
    columns = list(range(len(table.columns)))
    widths = _measure(table)
    names = max(len(row.name) for group in table.groups for row in group.rows)
    while names + sum(_GAP + widths[index] for index in columns) > console.width:
        rank = max(table.columns[index].rank for index in columns)
        if rank == 0:
            _print_below(table, columns, console)
            return
        columns.remove(max(index for index in columns if table.columns[index].rank == rank))
    _print_beside(table, columns, [names, *(widths[index] for index in columns)], console)


def _measure(table: FigureTable) -> list[int]:
    rows = [row for group in table.groups for row in group.rows]
    return [
        max(len(column.heading), len(column.unit), *(len(row.figures[index]) for row in rows))
        for index, column in enumerate(table.columns)
    ]


def _print_below(table: FigureTable, shown: Sequence[int], console: Console) -> None:
    for group in table.groups:
        _print_title(table, group, console)
        for row in group.rows:
            console.print(row.name)
            columns = [table.columns[index] for index in shown]
            figures = [
                (f"  {column.heading}", row.figures[index], column.unit)
                for index, column in zip(shown, columns, strict=True)
            ]
            _print_grid(figures, [max(map(len, texts)) for texts in zip(*figures, strict=True)], console)
        print_list("  •", group.notes, console)


def _print_beside(table: FigureTable, shown: Sequence[int], widths: Sequence[int], console: Console) -> None:
    columns = [table.columns[index] for index in shown]
    headings = [("", *(column.heading for column in columns)), ("", *(column.unit for column in columns))]
    _print_grid([heading for heading in headings if any(heading)], widths, console, "bold")
    for group in table.groups:
        _print_title(table, group, console)
        _print_grid([(row.name, *(row.figures[index] for index in shown)) for row in group.rows], widths, console)
        print_list("  •", group.notes, console)


def _print_title(table: FigureTable, group: TableGroup, console: Console) -> None:
    if len(table.groups) > 1:
        console.print(group.title, style="bold")


def _print_grid(rows: Iterable[Sequence[str]], widths: Sequence[int], console: Console, style: str = "") -> None:
    grid = Table.grid(padding=0)
    for index, width in enumerate(widths):
        grid.add_column(justify="right" if index else "left", no_wrap=True, width=width + (_GAP if index else 0))
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
