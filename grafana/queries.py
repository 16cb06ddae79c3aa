"""What several dashboards ask Prometheus.

PromQL with Grafana's variables in it; grafana/rules.yaml records what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wirebench.model.metric import METRICS

#: The filter of every query that knows transports.
CHOSEN = 'namespace="$namespace", transport=~"$transport"'
#: Series that loads have, whatever the driver.
LOADS = "k6_vus|k6_.+_req_duration_(milli)?seconds"
#: Services that Prometheus scrapes, and load: of a run outside a cluster it gets the load alone.
NAMESPACES = f'{{__name__=~"wirebench_build_info|{LOADS}"}}'
_REST = 'namespace="$namespace", transport="rest"'
_DURATIONS = "namespace_transport_pod:client_request_duration_{unit}:rate15s"
#: By driver.
REQUESTS = "namespace_transport_pod:client_requests:rate15s"
_CPU = "namespace_transport_pod:wirebench_cpu_seconds:rate15s"
_ANSWERED = "namespace_transport_pod:wirebench_requests:rate15s"
_FAILED = "namespace_transport_pod:client_failed_requests:rate15s"
_QUANTILES = {METRICS["p50"].label: 0.5, METRICS["p95"].label: 0.95, METRICS["p99"].label: 0.99}

#: What Prometheus has them in: base units, where those of metrics are what people read.
Unit = Literal["1/s", "s", "cpu s", "share", "ratio"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of each transport: its name, and the query that gives it."""

    name: str
    unit: Unit
    expr: str


def measure_durations(function: str, histogram: str = f"{_DURATIONS}{{{{{CHOSEN}}}}}") -> str:
    """Return the query of what a function says of clients' histograms, in seconds by transport.

    k6's histograms are in milliseconds: where other drivers sent as well, it is of these.
    """
    of_unit = f"{function} sum by (transport) ({histogram}))"
    return f"({of_unit.format(unit='seconds')} or {of_unit.format(unit='milliseconds')} / 1000)"


def count_requests(selector: str = CHOSEN, modifier: str = "") -> str:
    """Return the query of the requests by transport, per second."""
    return f"sum by (transport) ({REQUESTS}{{{selector}}}{modifier})"


def compute_failed_share() -> str:
    """Return the query of the share of requests that failed, by transport."""
    return f"sum by (transport) ({_FAILED}{{{CHOSEN}}}) / ({count_requests()} > 0)"


def _average_settled_rate(selector: str) -> str:
    """Leave out windows that hold the start or the end of a load: of 15 s, they change by a third or more in 5 s."""
    rate, before = count_requests(selector), count_requests(selector, " offset 5s")
    return f"avg_over_time(({rate} and abs({rate} / ({before} > 0) - 1) < 0.25)[$__range:5s])"


def _merge_latencies(quantile: float, selector: str) -> str:
    """Merge the histograms of the time range: quantiles are never averaged."""
    return measure_durations(
        f"histogram_quantile({quantile},", f"sum_over_time({_DURATIONS}{{{{{selector}}}}}[$__range])"
    )


def _divide_failures(selector: str) -> str:
    failed = f"sum by (transport) (sum_over_time({_FAILED}{{{selector}}}[$__range]))"
    return f"{failed} / (sum_over_time({count_requests(selector)}[$__range:5s]) > 0)"


def _divide_cpu(selector: str) -> str:
    """Count CPU time while there are requests: background work between loads is no request's."""
    cpu, answered = (f"sum by (transport) ({name}{{{selector}}})" for name in (_CPU, _ANSWERED))
    return f"sum_over_time(({cpu} and {answered} > 0)[$__range:5s]) / (sum_over_time({answered}[$__range:5s]) > 0)"


def _make_figures(selector: str) -> tuple[Figure, ...]:
    return (
        Figure(METRICS["throughput"].column, "1/s", _average_settled_rate(selector)),
        *(Figure(label, "s", _merge_latencies(quantile, selector)) for label, quantile in _QUANTILES.items()),
        Figure(METRICS["errors"].label, "share", _divide_failures(selector)),
        Figure(METRICS["cpu"].column, "cpu s", _divide_cpu(selector)),
    )


def _list_figures() -> tuple[Figure, ...]:
    """Return each figure, and beside it what it is of REST's; no share of nothing for failures."""
    figures = []
    for figure, of_rest in zip(_make_figures(CHOSEN), _make_figures(_REST), strict=True):
        figures.append(figure)
        if figure.unit != "share":
            expr = f"({figure.expr}) / on () group_left () sum without (transport) ({of_rest.expr})"
            figures.append(Figure(f"{figure.name} ÷ REST", "ratio", expr))
    return tuple(figures)


#: First row: each transport's figures over the time range, under load.
FIGURES = _list_figures()
#: Second row: what clients wait, over time.
LATENCIES = tuple(
    Figure(label, "s", measure_durations(f"histogram_quantile({quantile},")) for label, quantile in _QUANTILES.items()
)

_SCALE = f"max by (transport, replicas, workers) (namespace_transport_replicas_workers:wirebench_scale:info{{{CHOSEN}}}"
_REPLICAS = f"max by (transport, pod) (wirebench_build_info{{{CHOSEN}}}"
_LOADS = f"count by (transport, driver) ({REQUESTS}{{{CHOSEN}}}"


@dataclass(frozen=True, slots=True)
class ChartEvent:
    """What begins at some time: a query with a value at that time, and how it is called, by its labels."""

    name: str
    title: str
    expr: str
    colour: str


_ALERTS = 'ALERTS{alertstate="firing", namespace="$namespace"}'

#: A point at the start of each: by steps of 5 s, one that had no value before.
EVENTS = (
    ChartEvent("Scale", "{{transport}} {{replicas}} × {{workers}}", f"{_SCALE}) unless {_SCALE} offset 5s)", "purple"),
    ChartEvent(
        "New replicas",
        "{{transport}} new replicas",
        f"count by (transport) ({_REPLICAS}) unless {_REPLICAS} offset 5s))",
        "blue",
    ),
    ChartEvent("Load", "{{transport}} load by {{driver}}", f"{_LOADS}) unless {_LOADS} offset 5s)", "green"),
    ChartEvent("Alert", "{{alertname}} {{transport}}", f"{_ALERTS} unless {_ALERTS} offset 5s", "red"),
)
