"""What a dashboard says: rows of charts and their queries. How that becomes Grafana's JSON is in generate.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Datasource:
    """What a dashboard asks: its name, its type in Grafana, and what the choice above the dashboard calls it."""

    name: str
    type: str
    title: str


PROMETHEUS = Datasource("prometheus", "prometheus", "Prometheus")
#: The index of results.
POSTGRESQL = Datasource("postgresql", "grafana-postgresql-datasource", "Results")

#: What a chart needs that not every system has: cAdvisor's figures, a CPU limit of the services, PostgreSQL as store.
Need = Literal["cadvisor", "cpu-limit", "postgres"]


@dataclass(frozen=True)
class Query:
    """PromQL and the name of each series in the legend; or SQL, whose column `metric` names them.

    A name begins with the transport where there is one (`{{transport}}`): the colours go by it.
    """

    expr: str
    legend: str = "{{transport}}"
    dashed: bool = False  # what something is compared with: what was asked for, a limit


@dataclass(frozen=True)
class Chart:
    """One panel. Its description says what it shows, how to read it, and what a bad sign is.

    `lowest` and `highest` bound the axis; `limit` draws a line that should not be crossed; `empty` is what an empty one
    says.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    needs: Need | None = None
    kind: Literal["lines", "points", "bars", "table"] = "lines"
    lowest: float | None = 0
    highest: float | None = None
    limit: float | None = None
    empty: str | None = None


@dataclass(frozen=True)
class Row:
    """Charts that answer one question."""

    title: str
    charts: tuple[Chart, ...]


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
    datasource: Datasource = PROMETHEUS
    time_range: str = "now-15m"
    refresh: str = "10s"

    def charts(self) -> Iterator[Chart]:
        """Yield the charts of all rows."""
        for row in self.rows:
            yield from row.charts


#: Series that every load tool has; wireload has k6's names.
LOAD_TOOLS = "k6_vus|ghz_requests_total"
#: Services that Prometheus scrapes, and load: of a run outside a cluster it gets the load alone.
_ANY = f'__name__=~"wirebench_build_info|{LOAD_TOOLS}"'
#: One at a time: figures of two namespaces have nothing to do with each other.
NAMESPACE = Variable("namespace", "Namespace", values_of(f"{{{_ANY}}}", "namespace"), several=False)
TRANSPORT = Variable("transport", "Transport", values_of(f'{{{_ANY}, namespace="$namespace"}}', "transport"))
#: The filter of every query that knows transports.
CHOSEN = 'namespace="$namespace", transport=~"$transport"'


def client_service_time(quantile: float) -> str:
    """Return the query of a quantile that the recording rules have for k6 and ghz: 0.5, 0.95 or 0.99."""
    name = "namespace_transport:client_request_duration_seconds:quantile_rate30s"
    return f'{name}{{{CHOSEN}, quantile="{quantile}"}}'
