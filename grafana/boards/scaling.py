"""Scaling: what more replicas and workers bring, whether they share the work, and what holds them back."""

from grafana_foundation_sdk.models import units

from grafana.board import (
    CHOSEN,
    NAMESPACE,
    TRANSPORT,
    Board,
    Chart,
    Query,
    Row,
    Variable,
    client_service_time,
    values_of,
)
from wirebench.measure.gates import FAIRNESS_MIN

_POD = Variable("replica", "Replica", values_of(f"wirebench_build_info{{{CHOSEN}}}", "pod"))
_CHOSEN_PODS = f'{CHOSEN}, pod=~"$replica"'
_BY_SCALE = (
    " * on (namespace, transport) group_left (replicas, workers)"
    f" namespace_transport_replicas_workers:wirebench_scale:info{{{CHOSEN}}}"
)
_SCALE = "{{transport}} {{replicas}} × {{workers}}"
_REPLICA = "{{transport}} {{pod}}"
_RATE_BY_SCALE = f"namespace_transport_replicas_workers:wirebench_requests:rate30s{{{CHOSEN}}}"
_LIMIT_USED = 'namespace_pod_container:container_cpu_limit_used:ratio_rate1m{container!="load"}'
_STORE_WAIT = 'rate(wirebench_store_wait_seconds_{}{{namespace="$namespace"}}[$__rate_interval])'
_OF_CHOSEN_PODS = (
    " * on (namespace, pod) group_left (transport)"
    f" max by (namespace, pod, transport) (wirebench_build_info{{{_CHOSEN_PODS}}})"
)

_GROWTH = Row(
    "Do more replicas and workers bring more?",
    (
        Chart(
            title="Requests, by replicas × workers",
            description="Requests a second that all replicas answer; a series is one number of replicas and of "
            "workers in each. Twice the replicas should bring nearly twice the rate, if the load asks for it. Bad: "
            "the same rate with more replicas: see below what is shared badly or used up.",
            unit=units.RequestsPerSecond,
            queries=(Query(_RATE_BY_SCALE, _SCALE),),
        ),
        Chart(
            title="Most requests, by replicas × workers",
            description="The highest rate over 30 s that was seen in the time range at each number of replicas and "
            "workers: the scaling curve. Bad: bars that stop growing.",
            unit=units.RequestsPerSecond,
            queries=(Query(f"max_over_time({_RATE_BY_SCALE}[$__range])", _SCALE),),
            kind="bars",
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
        Chart(
            title="Service time at the client, p99, by replicas × workers",
            description="By load tools, from the actual send to the full reply. At the same rate, more replicas should "
            "lower it. Bad: it stays high while replicas are idle: the load does not reach them.",
            unit=units.Seconds,
            queries=(
                Query(
                    f"max by (namespace, transport) ({client_service_time(0.99)})" + _BY_SCALE,
                    _SCALE,
                ),
            ),
        ),
        Chart(
            title="Time in the service, p99, by replicas × workers",
            description="From the request read to the reply handed over, by buckets of 1, 2 and 5. Bad: it grows "
            "with workers: they take CPU time or locks from each other.",
            unit=units.Seconds,
            queries=(
                Query(
                    "histogram_quantile(0.99, sum by (namespace, transport, le)"
                    f" (rate(wirebench_request_duration_seconds_bucket{{{CHOSEN}}}[$__rate_interval])))" + _BY_SCALE,
                    _SCALE,
                ),
            ),
        ),
    ),
)

_FAIRNESS = Row(
    "Is the work shared?",
    (
        Chart(
            title="Requests per replica",
            description="Lines should lie on each other. Bad: one replica has all and the others lie at 0, as gRPC's "
            "few long connections do behind a ClusterIP.",
            unit=units.RequestsPerSecond,
            queries=(Query(f"namespace_transport_pod:wirebench_requests:rate30s{{{_CHOSEN_PODS}}}", _REPLICA),),
        ),
        Chart(
            title="Requests per worker",
            description="Each worker by its process id (0 in Go). Lines should lie on each other. A worker that has "
            "never had a request has no line. Bad: lines far apart: the kernel spreads connections by chance, and "
            "few connections are spread badly.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(
                    f"namespace_transport_pod_worker:wirebench_requests:rate30s{{{_CHOSEN_PODS}}}",
                    "{{transport}} {{pod}} worker {{worker}}",
                ),
            ),
        ),
        Chart(
            title="Fairness among replicas",
            description="Jain's index: 1 is an even share, 1/n is one of n replicas taking all. Bad: below the line, "
            "which is the limit of wirebench's gate.",
            unit=units.NoUnit,
            queries=(Query(f"namespace_transport:wirebench_requests:jain_pods_rate30s{{{CHOSEN}}}"),),
            highest=1,
            limit=FAIRNESS_MIN,
        ),
        Chart(
            title="Fairness among workers",
            description="Jain's index over the workers of all replicas. Bad: below the line, where wirebench reports "
            "uneven workers. Workers of gunicorn and uvicorn share one listening socket, so that a busy one can get "
            "more: use more connections.",
            unit=units.NoUnit,
            queries=(Query(f"namespace_transport:wirebench_requests:jain_workers_rate30s{{{CHOSEN}}}"),),
            highest=1,
            limit=FAIRNESS_MIN,
        ),
    ),
)

_LIMITS = Row(
    "What holds it back?",
    (
        Chart(
            title="CPU per replica",
            description="Cores in use. Bad: one replica at its limit, others idle.",
            unit="suffix: cores",
            queries=(Query(f"namespace_transport_pod:wirebench_cpu_seconds:rate30s{{{_CHOSEN_PODS}}}", _REPLICA),),
        ),
        Chart(
            title="CPU used of the limit",
            description="Of each replica, by cAdvisor. At 100 % a replica gives what its limit allows and no more: "
            "only then is its rate a capacity. Bad: 100 % where none was meant to be full.",
            unit=units.PercentUnit,
            queries=(Query(f"sum by (namespace, pod) ({_LIMIT_USED})" + _OF_CHOSEN_PODS, _REPLICA),),
            needs="cadvisor",
            limit=1,
        ),
        Chart(
            title="CPU throttling",
            description="Periods a second in which a replica met its CPU limit and had to wait for the next; a "
            "period is 100 ms, so that 10 is all of them. Bad: anything above 0 when latency matters: a request that "
            "is caught waits for up to 100 ms, and p99 shows it first.",
            unit=units.CountsPerSecond,
            queries=(
                Query(
                    'rate(wirebench_cpu_throttled_periods_total{namespace="$namespace"}[$__rate_interval])'
                    + _OF_CHOSEN_PODS,
                    _REPLICA,
                ),
            ),
            needs="cpu-limit",
        ),
        Chart(
            title="Memory per replica",
            description="What a further replica costs in memory. Bad: growth under a steady load.",
            unit=units.BytesIEC,
            queries=(Query('wirebench_memory_bytes{namespace="$namespace"}' + _OF_CHOSEN_PODS, _REPLICA),),
        ),
        Chart(
            title="Waits for a PostgreSQL connection",
            description="How long an operation waited for a connection of its worker's pool, on average. Bad: it "
            "grows with the load while PostgreSQL is not busy: raise storeConnections.",
            unit=units.Seconds,
            queries=(
                Query(
                    f"{_STORE_WAIT.format('sum')} / ({_STORE_WAIT.format('count')} > 0)" + _OF_CHOSEN_PODS,
                    _REPLICA,
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
    variables=(NAMESPACE, TRANSPORT, _POD),
    rows=(_GROWTH, _FAIRNESS, _LIMITS),
)
