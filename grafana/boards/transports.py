"""Transports side by side: who is faster, and what it costs."""

from grafana_foundation_sdk.models import units

from grafana.board import NAMESPACE, TRANSPORT, Board, Chart, Query, Row
from grafana.queries import (
    ANSWERED,
    CHOSEN,
    CPU,
    FIGURES,
    LATENCIES,
    Figure,
    compute_failed_share,
    count_requests,
)
from wirebench.model.metric import METRICS
from wirebench.model.scenario import ERROR_SHARE_MAX
from wirebench.present.labels import capitalise

_UNITS = {
    "1/s": units.RequestsPerSecond,
    "s": units.Seconds,
    "cpu s": units.Seconds,
    "share": units.PercentUnit,
    "ratio": "suffix: ×",
}
_ANSWERED = f"sum by (transport) (rate(wirebench_request_duration_seconds_count{{{CHOSEN}}}[$__rate_interval]))"
_ERRORS = (
    "sum by (transport, code)"
    f' (rate(wirebench_request_duration_seconds_count{{{CHOSEN}, code!="ok"}}[$__rate_interval]))'
)
_MEANINGS = {
    "p50": "Half of the requests took less: what the transport and the stack behind it cost.",
    "p95": "One request in 20 took longer. Bad: far above p50 while the rate is moderate.",
    "p99": "One request in 100 took longer. Bad: it grows while the rate does not: a queue.",
}


def _service_time(figure: Figure) -> Chart:
    return Chart(
        title=f"Service time, {figure.name}",
        description=f"{_MEANINGS[figure.name]} From the actual send to the full reply, by whichever driver sends the "
        "load: wireload, or k6 where that does not. ghz reports none: see the time in the service below. Opening "
        "a connection is not in it. Under an open load a request may have waited before it was sent: that is in "
        "wirebench's report.",
        unit=units.Seconds,
        queries=(Query(figure.expr),),
    )


def _per_request(metric: str) -> Query:
    """Return the bytes a request, over one window: in windows that differ, it is wrong while the load changes."""
    rate = 'sum by (transport) (rate({{__name__=~"{}", {}}}[$__rate_interval]))'
    return Query(f"{rate.format(metric, CHOSEN)} / ({rate.format('k6_iterations_total', CHOSEN)} > 0)")


_ANSWER = Row(
    "Which transport is faster, and what does it cost?",
    (
        Chart(
            title="Transports",
            description="Of all loads in the time range: requests a second while the rate was settled, service time "
            "by the merged histograms of the drivers (k6's where no other sent), errors as a share of the requests, "
            "and the services' CPU time a request. Compare transports under the same load only. Whether one is faster "
            "is for wirebench's verdicts.",
            unit=units.Short,
            queries=tuple(Query(each.expr, each.name, unit=_UNITS[each.unit]) for each in FIGURES),
            kind="table",
            lowest=None,
        ),
    ),
    height=6,
)

_LATENCY = Row("How long do clients wait?", tuple(map(_service_time, LATENCIES)))

_LOAD = Row(
    "What was sent, and what failed?",
    (
        Chart(
            title="Requests",
            description="Requests a second that clients count, failed ones too. A closed load sends as fast as "
            "replies come. Bad: jumps that no load, no rollout and no scale explains.",
            unit=units.RequestsPerSecond,
            queries=(Query(count_requests()),),
        ),
        Chart(
            title="Failed requests",
            description="Share of requests with an error status or no reply at all. Bad: anything above the line, "
            "which is the limit of wirebench's error gate: a service that fails fast looks fast.",
            unit=units.PercentUnit,
            queries=(Query(compute_failed_share()),),
            soft_highest=0.01,
            limit=ERROR_SHARE_MAX,
        ),
        Chart(
            title="Errors by code",
            description="Replies other than ok that services count, by their code, which means the same on all "
            "transports. 0 where there are no such replies. Bad: internal, unavailable, resource_exhausted.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(
                    f"{_ERRORS} or label_replace(0 * {_ANSWERED} unless on (transport) {_ERRORS},"
                    ' "code", "no error", "", "")',
                    "{{transport}} {{code}}",
                ),
            ),
            soft_highest=1,
        ),
    ),
)

_COST = Row(
    "What does it cost?",
    (
        Chart(
            title=capitalise(METRICS["cpu"].label),
            description="CPU time of all of a service's processes over the requests it answered: the figure that "
            "decides what a cluster costs. It depends on the load less than latency does. Nearly idle services seem "
            "dear: their background work is spread over few requests.",
            unit=units.Seconds,
            queries=(Query(f"{CPU} / ({ANSWERED} > 0)"),),
        ),
        Chart(
            title="CPU used",
            description="Cores in use by all replicas while there are requests. Bad: at the limit, or at the number of "
            "cores of the machine: then the figures above are those of a service that is full.",
            unit="suffix: cores",
            queries=(Query(f"{CPU} and {ANSWERED} > 0"),),
        ),
        Chart(
            title="Memory",
            description="Resident memory of all replicas. Pages that processes share count in each of them. Bad: "
            "growth under a steady load.",
            unit=units.BytesIEC,
            queries=(
                Query(
                    'sum by (transport) (process_resident_memory_bytes{namespace="$namespace"}'
                    " * on (namespace, pod) group_left (transport)"
                    f" max by (namespace, pod, transport) (wirebench_build_info{{{CHOSEN}}}))"
                ),
            ),
        ),
    ),
)

_INSIDE = Row(
    "What happens inside the service, and on the network?",
    (
        Chart(
            title="Time in the service, p99",
            description="From the request read to the reply handed over; by buckets of 1, 2 and 5, so coarse. What "
            "clients see beyond it is the network, the kernel and waiting for a worker. Bad: close to what they see.",
            unit=units.Seconds,
            queries=(
                Query(
                    "histogram_quantile(0.99, sum by (transport, le)"
                    f" (rate(wirebench_request_duration_seconds_bucket{{{CHOSEN}}}[$__rate_interval])))"
                ),
            ),
        ),
        Chart(
            title="Sent per request",
            description="What wireload and k6 wrote to their connections for a request, with headers and framing; "
            "other drivers count no bytes. Bad: far more than the body when bodies are small.",
            unit=units.BytesSI,
            queries=(_per_request("k6_data_sent(_bytes)?_total"),),
        ),
        Chart(
            title="Received per request",
            description="What wireload and k6 read from their connections for a request, with headers and framing; "
            "other drivers count no bytes.",
            unit=units.BytesSI,
            queries=(_per_request("k6_data_received(_bytes)?_total"),),
        ),
    ),
)

TRANSPORTS = Board(
    uid="wirebench-transports",
    title="wirebench: transports side by side",
    description="REST, gRPC and a plain socket under the same load: speed, errors, cost. It shows what is going on; "
    "whether one is faster is for wirebench's verdicts, which take repetition.",
    variables=(NAMESPACE, TRANSPORT),
    rows=(_ANSWER, _LATENCY, _LOAD, _COST, _INSIDE),
)
