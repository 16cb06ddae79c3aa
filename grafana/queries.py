"""What several dashboards ask Prometheus.

PromQL with Grafana's variables in it; grafana/rules.yaml records what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wirebench.model.metric import METRICS

#: The filter of every query that knows transports.
CHOSEN = 'namespace="$namespace", transport=~"$transport"'
#: Services that Prometheus scrapes, and load, whatever the driver: of a run outside a cluster it gets the load alone.
NAMESPACES = '{__name__=~"wirebench_build_info|k6_iterations_total|k6_.+_req_duration_(milli)?seconds"}'
#: Clients' histograms; UNIT is that of their times.
_DURATIONS = f'{{__name__=~"k6_.+_req_duration_UNIT", {CHOSEN}}}'
RATES = f"rate({_DURATIONS}[15s])"
_OF_RANGE = f"increase({_DURATIONS}[$__range])"
#: By driver.
REQUESTS = f"namespace_transport:client_requests:rate15s{{{CHOSEN}}}"
_FAILED = f"namespace_transport:client_failed_requests:rate15s{{{CHOSEN}}}"
#: Of the services, and the requests that they have answered.
CPU = f"sum by (transport) (namespace_transport_pod:wirebench_cpu_seconds:rate15s{{{CHOSEN}}})"
ANSWERED = f"sum by (transport) (namespace_transport_pod:wirebench_requests:rate15s{{{CHOSEN}}})"
_QUANTILES = {METRICS["p50"].label: 0.5, METRICS["p95"].label: 0.95, METRICS["p99"].label: 0.99}

#: What Prometheus has them in: base units, where those of metrics are what people read.
Unit = Literal["1/s", "s", "cpu s", "share", "ratio"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of each transport: its name, and the query that gives it."""

    name: str
    unit: Unit
    expr: str


def measure_durations(function: str, histograms: str = RATES, labels: str = "transport") -> str:
    """Return the query of what a function says of clients' histograms, in seconds by transport.

    k6's histograms are in milliseconds, and PromQL can't scale buckets: where wireload sent as well, it is of that.
    """
    of_unit = f"{function} sum by ({labels}) ({histograms}))"
    return f"({of_unit.replace('UNIT', 'seconds')} or {of_unit.replace('UNIT', 'milliseconds')} / 1000)"


def count_requests(modifier: str = "") -> str:
    """Return the query of the requests by transport, per second."""
    return f"sum by (transport) ({REQUESTS}{modifier})"


def compute_failed_share() -> str:
    """Return the query of the share of requests that failed, by transport."""
    return f"sum by (transport) ({_FAILED}) / ({count_requests()} > 0)"


def _average_settled_rate() -> str:
    """Leave out windows that hold the start or the end of a load: of 15 s, they change by a third or more in 5 s."""
    rate, before = count_requests(), count_requests(" offset 5s")
    return f"avg_over_time(({rate} and abs({rate} / ({before} > 0) - 1) < 0.25)[$__range:5s])"


def _divide_failures() -> str:
    failed = f"sum by (transport) (sum_over_time({_FAILED}[$__range]))"
    return f"{failed} / (sum_over_time({count_requests()}[$__range:5s]) > 0)"


def _divide_cpu() -> str:
    """Count CPU time while there are requests: background work between loads is no request's."""
    return f"sum_over_time(({CPU} and {ANSWERED} > 0)[$__range:5s]) / (sum_over_time({ANSWERED}[$__range:5s]) > 0)"


#: Each transport's figures over the time range, under load. Quantiles are those of merged histograms.
_FIGURES = (
    Figure(METRICS["throughput"].column, "1/s", _average_settled_rate()),
    *(
        Figure(label, "s", measure_durations(f"histogram_quantile({quantile},", _OF_RANGE))
        for label, quantile in _QUANTILES.items()
    ),
    Figure(METRICS["errors"].label, "share", _divide_failures()),
    Figure(METRICS["cpu"].column, "cpu s", _divide_cpu()),
)


def _list_figures() -> tuple[Figure, ...]:
    """Return each figure, and beside it what it is of REST's; no share of nothing for failures."""
    figures = []
    for figure in _FIGURES:
        figures.append(figure)
        if figure.unit != "share":
            of_rest = figure.expr.replace(CHOSEN, 'namespace="$namespace", transport="rest"')
            expr = f"({figure.expr}) / on () group_left () sum without (transport) ({of_rest})"
            figures.append(Figure(f"{figure.name} ÷ REST", "ratio", expr))
    return tuple(figures)


#: First row.
FIGURES = _list_figures()
#: Second row: what clients wait, over time.
LATENCIES = tuple(
    Figure(label, "s", measure_durations(f"histogram_quantile({quantile},")) for label, quantile in _QUANTILES.items()
)


@dataclass(frozen=True, slots=True)
class ChartEvent:
    """What begins at some time: a query with a value at that time, and how it is called, by its labels."""

    name: str
    title: str
    expr: str
    colour: str


_SCALE = (
    "max by (transport, replicas, workers)"
    f" (namespace_transport_replicas_workers:wirebench_processes:product{{{CHOSEN}}}"
)
_LOADS = f"count by (transport, driver) ({REQUESTS}"
_ALERTS = 'ALERTS{alertstate="firing", namespace="$namespace"}'

#: A point at the start of each: by steps of 5 s, one that had no value before.
EVENTS = (
    ChartEvent("Scale", "{{transport}} {{replicas}} × {{workers}}", f"{_SCALE}) unless {_SCALE} offset 5s)", "purple"),
    ChartEvent("Load", "{{transport}} load by {{driver}}", f"{_LOADS}) unless {_LOADS} offset 5s)", "green"),
    ChartEvent("Alert", "{{alertname}} {{transport}}", f"{_ALERTS} unless {_ALERTS} offset 5s", "red"),
)
