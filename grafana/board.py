"""What a dashboard says: rows of charts and their queries. How that becomes Grafana's JSON is in generate.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from grafana.queries import NAMESPACES

#: `lines` are over time; `table` has a row for each set of labels, and `curve` points of each transport over its first
#: query, which gives the place, with the others there.
Kind = Literal["lines", "table", "curve"]
#: Those that show one value of each series, that of the time range.
INSTANT: tuple[Kind, ...] = ("table", "curve")


@dataclass(frozen=True)
class Query:
    """PromQL and the name of each series in the legend, or of a column.

    The colours go by the transport in a name of series (`{{transport}}`), which it begins with.
    """

    expr: str
    legend: str = "{{transport}}"
    dashed: bool = False  # what something is compared with: what was asked for, a limit
    unit: str = ""  # of a column, where it isn't the chart's


@dataclass(frozen=True)
class Chart:
    """One panel. Its description says what it shows, how to read it, and what a bad sign is.

    `needs` is what not every system has, without which it is empty. `lowest` and `highest` bound the axis, which
    reaches to `soft_highest` at least; `limit` draws a line that should not be crossed; `sort` names a table's columns.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    needs: str = ""
    kind: Kind = "lines"
    lowest: float | None = 0
    highest: float | None = None
    soft_highest: float | None = None
    limit: float | None = None
    sort: tuple[str, ...] = ("transport",)


@dataclass(frozen=True)
class Row:
    """Charts that answer one question; `height` is in rows of Grafana's grid."""

    title: str
    charts: tuple[Chart, ...]
    height: int = 9


@dataclass(frozen=True)
class Variable:
    """A choice above the dashboard among the values that a query gives; `several`: any number of them, or all."""

    name: str
    title: str
    query: str
    several: bool = True


def values_of(selector: str, label: str) -> str:
    """Return Grafana's query of Prometheus for the values of a label."""
    return f"label_values({selector}, {label})"


@dataclass(frozen=True)
class Board:
    """A dashboard. The uid is its address, and must stay."""

    uid: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    def charts(self) -> Iterator[Chart]:
        """Yield the charts of all rows."""
        for row in self.rows:
            yield from row.charts


#: One at a time: figures of two namespaces have nothing to do with each other.
NAMESPACE = Variable("namespace", "Namespace", values_of(NAMESPACES, "namespace"), several=False)
TRANSPORT = Variable("transport", "Transport", values_of(f'{NAMESPACES[:-1]}, namespace="$namespace"}}', "transport"))
