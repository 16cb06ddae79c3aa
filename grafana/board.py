"""What a dashboard says: rows of charts and their queries. How that becomes Grafana's JSON is in generate.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

#: What a chart needs that not every system has: cAdvisor's figures, or a CPU limit on the services' own group.
Need = Literal["cadvisor", "cpu-limit"]


@dataclass(frozen=True)
class Query:
    """PromQL and the name of each series in the legend.

    A legend begins with `{{transport}}` where there is one: the colours go by it.
    """

    expr: str
    legend: str = "{{transport}}"
    dashed: bool = False  # what something is compared with: what was asked for, a limit


@dataclass(frozen=True)
class Chart:
    """One panel. Its description says what it shows, how to read it, and what a bad sign is.

    `lowest` and `highest` bound the axis; `limit` draws a line that should not be crossed.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    needs: Need | None = None
    kind: Literal["lines", "bars"] = "lines"
    lowest: float | None = 0
    highest: float | None = None
    limit: float | None = None


@dataclass(frozen=True)
class Row:
    """Charts that answer one question."""

    title: str
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Variable:
    """A choice above the dashboard among the values of a label; `several`: any number of them, or all."""

    name: str
    title: str
    selector: str
    label: str
    several: bool = True

    @property
    def query(self) -> str:
        """Grafana's query for the values."""
        return f"label_values({self.selector}, {self.label})"


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
NAMESPACE = Variable("namespace", "Namespace", "wirebench_build_info", "namespace", several=False)
TRANSPORT = Variable("transport", "Transport", 'wirebench_build_info{namespace="$namespace"}', "transport")
#: The filter of every query that knows transports.
CHOSEN = 'namespace="$namespace", transport=~"$transport"'
