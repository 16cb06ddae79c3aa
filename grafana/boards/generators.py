"""Load generators: whether they were the bottleneck, and whether the load was what was asked for."""

from grafana_foundation_sdk.models import units

from grafana.board import NAMESPACE, TRANSPORT, Board, Chart, Query, Row, Variable, values_of
from grafana.queries import CHOSEN, LOADS, REQUESTS, count_requests, measure_durations
from wirebench.measure.gates import GENERATOR_CPU_MAX

_GENERATORS = f'{{__name__=~"{LOADS}", namespace="$namespace"}}'
_POD = Variable("generator", "Generator", values_of(_GENERATORS, "pod"))
_CHOSEN_PODS = f'{CHOSEN}, pod=~"$generator"'
#: The container of a load pod that its driver runs in has this name, whichever it is.
_CONTAINER = 'namespace="$namespace", pod=~"$generator", container="load"'
_CPU_USED = f"namespace_pod_container:container_cpu_limit_used:ratio_irate1m{{{_CONTAINER}}}"
#: Of the periods of the last minute. To start a load takes 1 or 2 %, which a gate, that knows the window, leaves out.
THROTTLED_MAX = 0.05
_THROTTLED = f"namespace_pod_container:container_cpu_throttled_periods:ratio_rate1m{{{_CONTAINER}}}"


def _sum(metric: str) -> str:
    return f"sum by (transport) ({metric}{{{_CHOSEN_PODS}}})"


def _sum_last(metric: str) -> str:
    """Return the query of a gauge, which k6 doesn't end: it would be there for another five minutes."""
    return f"sum by (transport) (last_over_time({metric}{{{_CHOSEN_PODS}}}[15s]))"


def _state(number: int, expr: str) -> str:
    """Return a state's number where it holds, with a label of its own, so that `or` keeps all states."""
    return f'label_replace({number} * max by (pod) ({expr}), "state", "{number}", "", "")'


_STATES = (
    _state(0, f"{REQUESTS}{{{_CHOSEN_PODS}}}"),
    _state(1, f"namespace_transport_pod:k6_dropped_iterations:rate15s{{{_CHOSEN_PODS}}} > bool 0"),
    _state(2, f"{_THROTTLED} > bool {THROTTLED_MAX}"),
    _state(3, f"{_CPU_USED} > bool {GENERATOR_CPU_MAX}"),
)

_BOTTLENECK = Row(
    "Is the generator the bottleneck?",
    (
        Chart(
            title="Bottleneck",
            description=f"Of each load pod. Full: above {100 * GENERATOR_CPU_MAX:.0f} % of its CPU limit, as the gate "
            f"has it; throttled: it met its limit in more than {100 * THROTTLED_MAX:.0f} % of the last minute's "
            "periods; drops: requests were due while all connections waited for replies, so that the service or too "
            "few connections are the bottleneck. CPU is known where cAdvisor is. Bad: full and "
            "throttled: the figures are then the generator's and not the service's.",
            unit=units.NoUnit,
            queries=(Query(f"max by (pod) ({' or '.join(_STATES)})", "{{pod}}"),),
            kind="states",
            states=("no", "no, but requests are dropped", "yes: throttled", "yes: CPU full"),
            lowest=None,
        ),
    ),
)

_LOAD = Row(
    "Was the load what was asked for?",
    (
        Chart(
            title="Offered and achieved rate",
            description="Iterations, of one request each. Offered is what was due, dashed; achieved is what was "
            "carried out. Under a closed load they are the same. Bad: a gap: what was not sent was not measured.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(_sum("namespace_transport_pod:k6_iterations:rate15s"), "{{transport}} achieved"),
                Query(
                    _sum("namespace_transport_pod:k6_offered_iterations:rate15s"), "{{transport}} offered", dashed=True
                ),
            ),
        ),
        Chart(
            title="Dropped iterations",
            description="Due while all virtual users were waiting for replies, so never sent. Bad: anything above 0: "
            "either the service cannot take the rate, or there are too few virtual users.",
            unit=units.CountsPerSecond,
            queries=(Query(_sum("namespace_transport_pod:k6_dropped_iterations:rate15s")),),
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

_CPU = Row(
    "How much CPU has it left?",
    (
        Chart(
            title="CPU used of the limit, busiest generator",
            description="Between the last two samples of cAdvisor, 10 to 15 s apart. Bad: above the line, which is the "
            "limit of wirebench's gate: give the generator more CPU, or use more pods.",
            unit=units.PercentUnit,
            queries=(Query(f"max by (namespace) ({_CPU_USED})", "CPU used of the limit"),),
            needs="cadvisor",
            soft_highest=1,
            limit=GENERATOR_CPU_MAX,
        ),
        Chart(
            title="Throttled, worst generator",
            description="Share of the last minute's CPU periods in which a load pod met its limit. To start a load "
            "takes 1 or 2 %. Bad: above the line: requests were sent late and replies read late, and it looks as if "
            "the service were slow.",
            unit=units.PercentUnit,
            queries=(Query(f"max by (namespace) ({_THROTTLED})", "throttled periods"),),
            needs="cadvisor",
            soft_highest=0.1,
            limit=THROTTLED_MAX,
        ),
    ),
)

_AGREEMENT = Row(
    "Do client and service tell the same story?",
    (
        Chart(
            title="Requests by client and service",
            description="Counted by drivers, and by the services, dashed. Bad: a gap: something else sends requests "
            "too, or requests are lost on the way. ghz's line ends 40 s ago.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(count_requests(_CHOSEN_PODS), "{{transport}} by the client"),
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
    variables=(NAMESPACE, TRANSPORT, _POD),
    rows=(_BOTTLENECK, _LOAD, _CPU, _AGREEMENT),
)
