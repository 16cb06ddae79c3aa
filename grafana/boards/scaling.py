"""Scaling: what more replicas and workers bring, whether they share the work, and what holds them back."""

from grafana_foundation_sdk.models import units

from grafana.board import NAMESPACE, TRANSPORT, Board, Chart, Query, Row
from grafana.queries import CHOSEN, measure_durations
from wirebench.model.record import FAIRNESS_MIN

_SCALE = "{{transport}} {{replicas}} × {{workers}}"
_LIMIT_USED = 'namespace_pod_container:container_cpu_limit_used:ratio_irate1m{container!="load"}'
_STORE_WAIT = 'rate(wirebench_store_wait_seconds_{}{{namespace="$namespace"}}[$__rate_interval])'
_OF_TRANSPORT = (
    " * on (namespace, pod) group_left (transport)"
    f" max by (namespace, pod, transport) (wirebench_build_info{{{CHOSEN}}})"
)
_SETTLED = f"namespace_transport_replicas_workers:wirebench_requests:settled_rate15s{{{CHOSEN}}}"

#: By transport, replicas and workers: the middle of the settled rates of the time range, and the number of processes.
_RATE = f"max by (transport, replicas, workers) (quantile_over_time(0.5, {_SETTLED}[$__range]))"
_PROCESSES = (
    "(max by (transport, replicas, workers) (max_over_time("
    f"namespace_transport_replicas_workers:wirebench_processes:product{{{CHOSEN}}}[$__range])) and {_RATE})"
)
_FEWEST = f"min by (transport) ({_PROCESSES})"
_BASE = f"max by (transport) ({_RATE} and {_PROCESSES} == on (transport) group_left () {_FEWEST})"
_IDEAL = f"{_PROCESSES} / on (transport) group_left () {_FEWEST}"
_SPEEDUP = f"{_RATE} / on (transport) group_left () {_BASE}"


def _compare_with_busiest(labels: str) -> str:
    """Return the share of each: rates of transports are too far apart for colours of one scale."""
    rates = f"{labels}:wirebench_requests:rate15s{{{CHOSEN}}}"
    return f"{rates} / on (transport) group_left () (max by (transport) ({rates}) > 0)"


_GROWTH = Row(
    "What do more replicas and workers bring?",
    (
        Chart(
            title="Speed-up, beside the ideal",
            description="Settled throughput at each number of processes (replicas × workers), over that of the "
            "fewest; dashed is what as many times the processes would bring at best. The load has to ask for it: use "
            "a closed one. Bad: points below that line: see below what is shared badly or used up.",
            unit="suffix: ×",
            queries=(
                Query(_PROCESSES, "processes", unit=units.Short),
                Query(_SPEEDUP, "speed-up"),
                Query(_IDEAL, "ideal", dashed=True),
            ),
            kind="curve",
        ),
        Chart(
            title="Throughput by replicas × workers",
            description="Requests a second that services answered, the median of all windows in the time range in "
            "which neither replicas nor the rate changed. Speed-up is over the fewest processes of the transport, "
            "efficiency the share of the ideal speed-up. Bad: an efficiency that falls.",
            unit=units.Short,
            queries=(
                Query(_PROCESSES, "processes"),
                Query(_RATE, "requests/s", unit=units.RequestsPerSecond),
                Query(_SPEEDUP, "speed-up", unit="suffix: ×"),
                Query(f"({_SPEEDUP}) / ({_IDEAL})", "efficiency", unit=units.PercentUnit),
            ),
            kind="table",
            sort=("transport", "processes"),
            lowest=None,
        ),
    ),
)

_TIME = Row(
    "How does it go over time?",
    (
        Chart(
            title="Requests, by replicas × workers",
            description="Requests a second that all replicas answer; a series is one number of replicas and of "
            "workers in each. Bad: the same rate with more replicas.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(f"namespace_transport_replicas_workers:wirebench_requests:rate15s{{{CHOSEN}}} > 0", _SCALE),
            ),
        ),
        Chart(
            title="Service time at the client, p99",
            description="By whichever driver sends the load, from the actual send to the full reply. At the same rate, "
            "more replicas should lower it. Bad: it stays high while replicas are idle: the load does not reach them.",
            unit=units.Seconds,
            queries=(Query(measure_durations("histogram_quantile(0.99,")),),
        ),
        Chart(
            title="Replicas and workers",
            description="Replicas that Prometheus reaches, and workers that have started in the one of them that has "
            "most. Bad: fewer than were asked for.",
            unit=units.NoUnit,
            queries=(
                Query(f"namespace_transport:wirebench_replicas:count{{{CHOSEN}}}", "{{transport}} replicas"),
                Query(
                    f"namespace_transport:wirebench_workers:max{{{CHOSEN}}}", "{{transport}} workers each", dashed=True
                ),
            ),
        ),
    ),
)

_FAIRNESS = Row(
    "Is the work shared?",
    (
        Chart(
            title="Requests per replica, of those of the busiest",
            description="A row for each replica; rows of a transport should be alike. Bad: one has a strong colour and "
            "the others don't, as gRPC's few long connections make them behind a ClusterIP.",
            unit=units.PercentUnit,
            queries=(Query(_compare_with_busiest("namespace_transport_pod"), "{{pod}}"),),
            kind="heatmap",
            highest=1,
        ),
        Chart(
            title="Requests per worker, of those of the busiest",
            description="A row for each worker by its process id (0 in Go) that has had a request. Bad: rows of a "
            "replica that differ: the kernel spreads connections by chance, and few connections are spread badly. "
            "Choose one transport above where rows are many.",
            unit=units.PercentUnit,
            queries=(Query(_compare_with_busiest("namespace_transport_pod_worker"), "{{pod}} {{worker}}"),),
            kind="heatmap",
            highest=1,
        ),
        Chart(
            title="Fairness among replicas",
            description="Jain's index: 1 is an even share, 1/n is one of n replicas taking all. Not while replicas "
            "come and go, or the load begins or ends. Bad: below the line, which is the limit of wirebench's gate.",
            unit=units.NoUnit,
            queries=(
                Query(
                    f"namespace_transport:wirebench_requests:jain_pods_rate15s{{{CHOSEN}}}"
                    f" and on (namespace, transport) {_SETTLED}"
                ),
            ),
            highest=1,
            limit=FAIRNESS_MIN,
        ),
        Chart(
            title="Fairness among workers",
            description="Jain's index over the workers of all replicas. Bad: below the line, where wirebench reports "
            "uneven workers. Workers of gunicorn and uvicorn share one listening socket, so that a busy one can get "
            "more: use more connections.",
            unit=units.NoUnit,
            queries=(
                Query(
                    f"namespace_transport:wirebench_requests:jain_workers_rate15s{{{CHOSEN}}}"
                    f" and on (namespace, transport) {_SETTLED}"
                ),
            ),
            highest=1,
            limit=FAIRNESS_MIN,
        ),
    ),
)

_LIMITS = Row(
    "What holds it back?",
    (
        Chart(
            title="CPU used of the limit, busiest replica",
            description="Between the last two samples of cAdvisor, 10 to 15 s apart. At 100 % a replica gives what its "
            "limit allows and no more: only then is its rate a capacity. Bad: 100 % where none was meant to be full.",
            unit=units.PercentUnit,
            queries=(Query(f"max by (transport) (sum by (namespace, pod) ({_LIMIT_USED})" + _OF_TRANSPORT + ")"),),
            needs="cadvisor",
            limit=1,
        ),
        Chart(
            title="CPU throttling, worst replica",
            description="Periods a second in which a replica met its CPU limit and had to wait for the next; a "
            "period is 100 ms, so that 10 is all of them. Bad: anything above 0 when latency matters: a request that "
            "is caught waits for up to 100 ms, and p99 shows it first.",
            unit=units.CountsPerSecond,
            queries=(
                Query(
                    "max by (transport)"
                    ' (rate(wirebench_cpu_throttled_periods_total{namespace="$namespace"}[$__rate_interval])'
                    + _OF_TRANSPORT
                    + ")",
                ),
            ),
            needs="cpu-limit",
            soft_highest=1,
        ),
        Chart(
            title="Waits for a PostgreSQL connection, worst replica",
            description="How long an operation waited for a connection of its worker's pool, on average. Bad: it "
            "grows with the load while PostgreSQL is not busy: raise storeConnections.",
            unit=units.Seconds,
            queries=(
                Query(
                    f"max by (transport) ({_STORE_WAIT.format('sum')} / ({_STORE_WAIT.format('count')} > 0)"
                    + _OF_TRANSPORT
                    + ")",
                ),
            ),
            needs="postgres",
        ),
    ),
)

SCALING = Board(
    uid="wirebench-scaling",
    title="wirebench: scaling",
    description="What more replicas and workers bring, whether they share the work, and what holds them back. On "
    "nodes that are one machine, such as kind's, limits make the curve and nodes do not.",
    variables=(NAMESPACE, TRANSPORT),
    rows=(_GROWTH, _TIME, _FAIRNESS, _LIMITS),
)
