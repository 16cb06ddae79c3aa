"""Load generators: whether the load was what was asked for, and whether they were the bottleneck."""

from grafana_foundation_sdk.models import units

from grafana.board import CHOSEN, LOAD_TOOLS, NAMESPACE, TRANSPORT, Board, Chart, Query, Row, Variable, values_of
from wirebench.measure.gates import GENERATOR_CPU_MAX

_GENERATORS = f'{{__name__=~"{LOAD_TOOLS}", namespace="$namespace"}}'
_POD = Variable("generator", "Generator", values_of(_GENERATORS, "pod"))
_CHOSEN_PODS = f'{CHOSEN}, pod=~"$generator"'
#: The container of a load pod that its load tool runs in has this name, whichever it is.
_CONTAINER = 'namespace="$namespace", pod=~"$generator", container="load"'
_GRPC = f'{CHOSEN}, transport="grpc"'
_HISTOGRAM = f"sum by (transport) (namespace_transport_pod:k6_request_duration_seconds:rate30s{{{CHOSEN}}})"


def _sum(metric: str) -> str:
    return f"sum by (transport) ({metric}{{{_CHOSEN_PODS}}})"


_LOAD = Row(
    "Was the load what was asked for?",
    (
        Chart(
            title="Offered and achieved rate",
            description="Iterations, of one request each. Offered is what was due, dashed; achieved is what was "
            "carried out. Under a closed load they are the same. Bad: a gap: what was not sent was not measured.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(_sum("namespace_transport_pod:k6_iterations:rate30s"), "{{transport}} achieved"),
                Query(
                    _sum("namespace_transport_pod:k6_offered_iterations:rate30s"), "{{transport}} offered", dashed=True
                ),
            ),
        ),
        Chart(
            title="Dropped iterations",
            description="Due while all virtual users were waiting for replies, so never sent. Bad: anything above 0: "
            "either the service cannot take the rate, or there are too few virtual users.",
            unit=units.CountsPerSecond,
            queries=(Query(_sum("namespace_transport_pod:k6_dropped_iterations:rate30s")),),
        ),
        Chart(
            title="Virtual users",
            description="Each has a connection of its own. In use, and the most there may be, dashed. Bad under an "
            "open load: all in use, as drops come next.",
            unit=units.Short,
            queries=(
                Query(_sum("k6_vus"), "{{transport}} in use"),
                Query(_sum("k6_vus_max"), "{{transport}} at most", dashed=True),
            ),
        ),
    ),
)

_BOTTLENECK = Row(
    "Is the generator the bottleneck?",
    (
        Chart(
            title="CPU used of the limit",
            description="Of each load pod, by cAdvisor. Bad: above the line, which is the limit of wirebench's gate: "
            "the figures are then the generator's and not the service's. Give it more CPU, or use more pods.",
            unit=units.PercentUnit,
            queries=(
                Query(f"namespace_pod_container:container_cpu_limit_used:ratio_rate1m{{{_CONTAINER}}}", "{{pod}}"),
            ),
            needs="cadvisor",
            limit=GENERATOR_CPU_MAX,
        ),
        Chart(
            title="CPU used and limit",
            description="Cores of each load pod; the limit is dashed. Bad: a line on its limit.",
            unit="suffix: cores",
            queries=(
                Query(f"sum by (pod) (rate(container_cpu_usage_seconds_total{{{_CONTAINER}}}[1m]))", "{{pod}}"),
                Query(
                    f"sum by (pod) (container_spec_cpu_quota{{{_CONTAINER}}})"
                    f" / sum by (pod) (container_spec_cpu_period{{{_CONTAINER}}}) > 0",
                    "{{pod}} limit",
                    dashed=True,
                ),
            ),
            needs="cadvisor",
        ),
        Chart(
            title="Throttled",
            description="Share of CPU periods in which the load pod met its limit. Bad: anything above 0: requests "
            "were sent late and replies read late, and it looks as if the service were slow.",
            unit=units.PercentUnit,
            queries=(
                Query(
                    f"namespace_pod_container:container_cpu_throttled_periods:ratio_rate1m{{{_CONTAINER}}}", "{{pod}}"
                ),
            ),
            needs="cadvisor",
            highest=1,
        ),
        Chart(
            title="Memory and limit",
            description="Working set of each load pod; the limit is dashed. Bad: close to the limit, where the "
            "kernel ends the generator.",
            unit=units.BytesIEC,
            queries=(
                Query(f"sum by (pod) (container_memory_working_set_bytes{{{_CONTAINER}}})", "{{pod}}"),
                Query(
                    f"sum by (pod) (container_spec_memory_limit_bytes{{{_CONTAINER}}}) > 0",
                    "{{pod}} limit",
                    dashed=True,
                ),
            ),
            needs="cadvisor",
        ),
    ),
)

_AGREEMENT = Row(
    "Do client and service tell the same story?",
    (
        Chart(
            title="Requests by client and service",
            description="Counted by load tools, and by the services, dashed. Bad: a gap: something else sends requests "
            "too, or requests are lost on the way. ghz's line ends 40 s ago.",
            unit=units.RequestsPerSecond,
            queries=(
                Query(_sum("namespace_transport_pod:client_requests:rate30s"), "{{transport}} by the client"),
                Query(
                    f"sum by (transport) (namespace_transport_pod:wirebench_requests:rate30s{{{CHOSEN}}})",
                    "{{transport}} by the service",
                    dashed=True,
                ),
            ),
        ),
        Chart(
            title="Mean time outside the service",
            description="Mean service time at the client less mean time in the service: the wire, both kernels, "
            "waiting for a worker, and the generator itself. Bad: it grows with the rate while the service is not "
            "busy: the generator is.",
            unit=units.Seconds,
            queries=(
                Query(
                    f"histogram_avg({_HISTOGRAM})"
                    f" - sum by (transport) (rate(wirebench_request_duration_seconds_sum{{{CHOSEN}}}[30s]))"
                    f" / (sum by (transport) (rate(wirebench_request_duration_seconds_count{{{CHOSEN}}}[30s])) > 0)"
                ),
            ),
            lowest=None,
        ),
    ),
)

_GHZ = Row(
    "What has ghz measured?",
    (
        Chart(
            title="Requests by ghz",
            description="By outcome, and counted by the gRPC service, dashed. ghz reports nothing while it runs: each "
            "part of its load, at most 20 s long, appears when it has ended, without warm-up. Bad: any outcome but ok.",
            unit=units.RequestsPerSecond,
            queries=(
                # Pushed second by second, so that 5 s hold five samples.
                Query(f"sum by (code) (rate(ghz_requests_total{{{_CHOSEN_PODS}}}[5s]))", "ghz: {{code}}"),
                Query(
                    f"sum(namespace_transport_pod:wirebench_requests:rate30s{{{_GRPC}}})", "by the service", dashed=True
                ),
            ),
        ),
        Chart(
            title="Latency by ghz",
            description="Service time of successful requests: quantiles of each part of the load as a whole. With "
            "a rate it is service time as well: ghz measures no waiting until a request is sent. Bad: far from k6's "
            "under the same load: then it is a generator that is measured.",
            unit=units.Seconds,
            queries=(
                Query(f"max by (quantile) (ghz_request_duration_seconds{{{_CHOSEN_PODS}}})", "quantile {{quantile}}"),
            ),
        ),
    ),
)

GENERATORS = Board(
    uid="wirebench-generators",
    title="wirebench: load generators",
    description="Whether the load was what was asked for, and whether it was the generator that was measured.",
    variables=(NAMESPACE, TRANSPORT, _POD),
    rows=(_LOAD, _BOTTLENECK, _AGREEMENT, _GHZ),
)
