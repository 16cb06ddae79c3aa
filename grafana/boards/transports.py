"""Transports side by side: who is faster, and what it costs."""

from grafana_foundation_sdk.models import units

from grafana.board import CHOSEN, NAMESPACE, TRANSPORT, Board, Chart, Query, Row, client_service_time
from wirebench.model.scenario import ERROR_SHARE_MAX

_REQUESTS = f"sum by (transport) (namespace_transport_pod:client_requests:rate30s{{{CHOSEN}}})"

#: Requests that services have answered: the count of the histogram of their durations.
_COUNT = "wirebench_request_duration_seconds_count"
_ANSWERED = f"sum by (transport) (rate({_COUNT}{{{CHOSEN}}}[$__rate_interval]))"
_ERRORS = f'sum by (transport, code) (rate({_COUNT}{{{CHOSEN}, code!="ok"}}[$__rate_interval]))'


def _service_time(quantile: float, name: str, description: str) -> Chart:
    return Chart(
        title=f"Service time, {name}",
        description=f"{description} From the actual send to the full reply, by load tools; ghz's figures arrive after "
        "each part of its load; opening a connection is not in it. Under an open load a request may have waited "
        "before it was sent: that is in wirebench's report.",
        unit=units.Seconds,
        queries=(Query(f"max by (transport) ({client_service_time(quantile)})"),),
    )


def _per_request(metric: str, requests: str) -> Query:
    """Return the ratio of two counters over one window: in windows that differ, it is wrong while the load changes."""
    rate = "sum by (transport) (rate({}{{{}}}[$__rate_interval]))"
    return Query(f"{rate.format(metric, CHOSEN)} / ({rate.format(requests, CHOSEN)} > 0)")


_CLIENT = Row(
    "What clients see",
    (
        Chart(
            title="Requests",
            description="Requests a second, failed ones too. Compare transports at the same number of connections "
            "only: a closed load sends as fast as replies come. Bad: jumps that nothing in the load explains.",
            unit=units.RequestsPerSecond,
            queries=(Query(_REQUESTS),),
        ),
        Chart(
            title="Failed requests",
            description="Share of requests with an error status or no reply at all. Bad: anything above the line, "
            "which is the limit of wirebench's error gate: a service that fails fast looks fast.",
            unit=units.PercentUnit,
            queries=(
                Query(
                    f"sum by (transport) (namespace_transport_pod:client_failed_requests:rate30s{{{CHOSEN}}})"
                    f" / ({_REQUESTS} > 0)"
                ),
            ),
            limit=ERROR_SHARE_MAX,
        ),
        _service_time(0.5, "p50", "Half of the requests took less: what the wire and the stack behind it cost."),
        _service_time(0.95, "p95", "One request in 20 took longer. Bad: far above p50 while the rate is moderate."),
        _service_time(0.99, "p99", "One request in 100 took longer. Bad: it grows while the rate does not: a queue."),
    ),
)

_SERVICE = Row(
    "What services see",
    (
        Chart(
            title="Requests answered",
            description="By the services' own count, whatever sends the load. Bad: less than clients count above.",
            unit=units.RequestsPerSecond,
            queries=(Query(_ANSWERED),),
        ),
        Chart(
            title="Errors by code",
            description="Replies other than ok, by their code, which means the same on all transports. 0 where there "
            "are no such replies. Bad: internal, unavailable, resource_exhausted.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(
                    f"{_ERRORS} or label_replace(0 * {_ANSWERED} unless on (transport) {_ERRORS},"
                    ' "code", "no error", "", "")',
                    "{{transport}} {{code}}",
                ),
            ),
        ),
        Chart(
            title="Time in the service, p99",
            description="From the request read to the reply handed over; by buckets of 1, 2 and 5, so coarse. What "
            "clients see beyond it is the wire, the kernel and waiting for a worker. Bad: close to what clients see.",
            unit=units.Seconds,
            queries=(
                Query(
                    "histogram_quantile(0.99, sum by (transport, le)"
                    f" (rate(wirebench_request_duration_seconds_bucket{{{CHOSEN}}}[$__rate_interval])))"
                ),
            ),
        ),
        Chart(
            title="Requests in flight",
            description="Read and not yet answered, on average: seconds that requests spent in the service, per second "
            "(Little's law). Bad: at the number of workers × threads all the time: what comes beyond that waits where "
            "no service can see it.",
            unit=units.Short,
            queries=(
                Query(
                    f"sum by (transport) (rate(wirebench_request_duration_seconds_sum{{{CHOSEN}}}[$__rate_interval]))"
                ),
            ),
        ),
    ),
)

_COST = Row(
    "What it costs",
    (
        Chart(
            title="Server CPU per request",
            description="CPU time of all of a service's processes over the requests it answered: the figure that "
            "decides what a cluster costs. It depends on the load less than latency does. Nearly idle services seem "
            "dear: their background work is spread over few requests.",
            unit=units.Microseconds,
            queries=(
                Query(
                    "1e6 * sum by (transport)"
                    f" (namespace_transport:wirebench_cpu_seconds_per_request:ratio_rate30s{{{CHOSEN}}})"
                ),
            ),
        ),
        Chart(
            title="CPU used",
            description="Cores in use by all replicas. Bad: at the limit, or at the number of cores of the machine: "
            "then the figures above are those of a service that is full.",
            unit="suffix: cores",
            queries=(Query(f"sum by (transport) (namespace_transport_pod:wirebench_cpu_seconds:rate30s{{{CHOSEN}}})"),),
        ),
        Chart(
            title="Memory",
            description="Resident memory of all replicas. Pages that processes share count in each of them. Bad: "
            "growth under a steady load.",
            unit=units.BytesIEC,
            queries=(
                Query(
                    'sum by (transport) (wirebench_memory_bytes{namespace="$namespace"}'
                    " * on (namespace, pod) group_left (transport)"
                    f" max by (namespace, pod, transport) (wirebench_build_info{{{CHOSEN}}}))"
                ),
            ),
        ),
    ),
)

_BYTES = Row(
    "What goes over the wire",
    (
        Chart(
            title="Sent per request",
            description="What load tools wrote to their connections for an iteration, which is one request, with "
            "headers and framing. Bad: far more than the body when bodies are small.",
            unit=units.BytesSI,
            queries=(_per_request("k6_data_sent_total", "k6_iterations_total"),),
        ),
        Chart(
            title="Received per request",
            description="What load tools read from their connections for an iteration, which is one request, with "
            "headers and framing.",
            unit=units.BytesSI,
            queries=(_per_request("k6_data_received_total", "k6_iterations_total"),),
        ),
    ),
)

TRANSPORTS = Board(
    uid="wirebench-transports",
    title="wirebench: transports side by side",
    description="REST, gRPC and a plain socket under the same load: speed, errors, cost. It shows what is going on; "
    "whether one is faster is for wirebench's verdicts, which take repetition.",
    variables=(NAMESPACE, TRANSPORT),
    rows=(_CLIENT, _SERVICE, _COST, _BYTES),
)
