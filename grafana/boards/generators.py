"""Load generators: whether they were the bottleneck, and whether the load was what was asked for."""

from grafana_foundation_sdk.models import units

from grafana.board import NAMESPACE, TRANSPORT, Board, Chart, Query, Row
from grafana.queries import CHOSEN, count_requests, measure_durations
from wirebench.measure.gates import GENERATOR_CPU_MAX

#: The container of a load pod that its driver runs in has this name, whichever it is.
_CONTAINER = 'namespace="$namespace", container="load"'
_CPU_USED = f"namespace_pod_container:container_cpu_limit_used:ratio_irate1m{{{_CONTAINER}}}"
_PERIODS = f"sum by (pod) (rate(container_cpu_cfs_{{}}periods_total{{{{{_CONTAINER}}}}}[1m]))"
_THROTTLED = f"{_PERIODS.format('throttled_')} / ({_PERIODS.format('')} > 0)"
#: Of the periods of the last minute. To start a load takes 1 or 2 %, which a gate, that knows the window, leaves out.
_THROTTLED_MAX = 0.05


_ITERATIONS = f"sum by (transport) (rate(k6_iterations_total{{{CHOSEN}}}[15s]))"
#: k6 has no such counter until it drops the first.
_DROPPED = f"(sum by (transport) (rate(k6_dropped_iterations_total{{{CHOSEN}}}[15s])) or 0 * {_ITERATIONS})"


def _sum_last(metric: str) -> str:
    """Return the query of a gauge, which k6 doesn't end: it would be there for another five minutes."""
    return f"sum by (transport) (last_over_time({metric}{{{CHOSEN}}}[15s]))"


_BOTTLENECK = Row(
    "Is the generator the bottleneck?",
    (
        Chart(
            title="CPU used of the limit, busiest generator",
            description="Between the last two samples of cAdvisor, 10 to 15 s apart. Bad: above the line, which is the "
            "limit of wirebench's gate: the figures are then the generator's and not the service's. Give it more "
            "CPU, or ask for less.",
            unit=units.PercentUnit,
            queries=(Query(f"max by (namespace) ({_CPU_USED})", "CPU used of the limit"),),
            needs="cAdvisor, which Kubernetes has",
            soft_highest=1,
            limit=GENERATOR_CPU_MAX,
        ),
        Chart(
            title="Throttled, worst generator",
            description="Share of the last minute's CPU periods in which a load pod met its limit. To start a load "
            "takes 1 or 2 %. Bad: above the line: requests were sent late and replies read late, and it looks as if "
            "the service were slow.",
            unit=units.PercentUnit,
            queries=(Query(f"max ({_THROTTLED})", "throttled periods"),),
            needs="cAdvisor, which Kubernetes has",
            soft_highest=0.1,
            limit=_THROTTLED_MAX,
        ),
    ),
)

_LOAD = Row(
    "Was the load what was asked for?",
    (
        Chart(
            title="Offered and achieved rate",
            description="Iterations, of one request each. Offered is what was due, dashed: carried out or dropped. "
            "Under a closed load they are the same. Bad: a gap: what was not sent was not measured.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(_ITERATIONS, "{{transport}} achieved"),
                Query(f"{_ITERATIONS} + {_DROPPED}", "{{transport}} offered", dashed=True),
            ),
        ),
        Chart(
            title="Dropped iterations",
            description="Due while all virtual users were waiting for replies, so never sent. Bad: anything above 0: "
            "either the service cannot take the rate, or there are too few virtual users.",
            unit=units.CountsPerSecond,
            queries=(Query(_DROPPED),),
            soft_highest=1,
        ),
        Chart(
            title="Virtual users",
            description="Each has a connection of its own. In use, and the most there may be, dashed. Bad under an "
            "open load: all in use, as drops come next.",
            unit=units.Short,
            queries=(
                Query(_sum_last("k6_vus"), "{{transport}} in use"),
                Query(_sum_last("k6_vus_max"), "{{transport}} at most", dashed=True),
            ),
        ),
    ),
)

_AGREEMENT = Row(
    "Do client and service tell the same story?",
    (
        Chart(
            title="Requests by client and service",
            description="Counted by wireload and k6, and by the services, dashed. Bad: a gap: something else sends "
            "requests too (ghz, for one, counts none while it runs), or requests are lost on the way.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(count_requests(), "{{transport}} by the client"),
                Query(
                    f"sum by (transport) (namespace_transport_pod:wirebench_requests:rate15s{{{CHOSEN}}}) > 0",
                    "{{transport}} by the service",
                    dashed=True,
                ),
            ),
        ),
        Chart(
            title="Mean time outside the service",
            description="Mean service time at the client less mean time in the service: the network, both kernels, "
            "waiting for a worker, and the generator itself. Bad: it grows with the rate while the service is not "
            "busy: the generator is.",
            unit=units.Seconds,
            queries=(
                Query(
                    f"{measure_durations('histogram_avg(')}"
                    f" - sum by (transport) (rate(wirebench_request_duration_seconds_sum{{{CHOSEN}}}[15s]))"
                    f" / (sum by (transport) (rate(wirebench_request_duration_seconds_count{{{CHOSEN}}}[15s])) > 0)"
                ),
            ),
            lowest=None,
        ),
    ),
)

GENERATORS = Board(
    uid="wirebench-generators",
    title="wirebench: load generators",
    description="Whether the load was what was asked for, and whether it was the generator that was measured.",
    variables=(NAMESPACE, TRANSPORT),
    rows=(_BOTTLENECK, _LOAD, _AGREEMENT),
)
