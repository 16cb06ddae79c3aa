"""Scaling: what more replicas and workers bring, whether they share the work, and what holds them back."""

from grafana_foundation_sdk.models import units

from grafana.board import NAMESPACE, TRANSPORT, Board, Chart, Query, Row, Variable, values_of
from grafana.queries import CHOSEN, RATES, measure_durations
from wirebench.model.record import FAIRNESS_MIN

_SCALE = "{{transport}} {{replicas}} × {{workers}}"
_LIMIT_USED = 'namespace_pod_container:container_cpu_limit_used:ratio_irate1m{container!="load"}'
_THROTTLED = 'rate(container_cpu_cfs_throttled_periods_total{namespace="$namespace", container!="load"}[1m])'
_OF_TRANSPORT = (
    " * on (namespace, pod) group_left (transport)"
    f" max by (namespace, pod, transport) (wirebench_build_info{{{CHOSEN}}})"
)
_BY_SCALE = "transport, replicas, workers"


def _scale(series: str, chosen: str) -> str:
    """Return the query of a number by transport, replicas and workers: of these, or of processes."""
    recorded = f"namespace_transport_replicas_workers:wirebench_{series}{{{chosen}}}"
    return f"max by ({_BY_SCALE}) (max_over_time({recorded}[$__range]))"


def _settled(chosen: str) -> str:
    return f"namespace_transport_replicas_workers:wirebench_requests:settled_rate15s{{{chosen}}}"


def _rate(chosen: str) -> str:
    """Return the query of the median of the settled rates of the time range."""
    return f"max by ({_BY_SCALE}) (quantile_over_time(0.5, {_settled(chosen)}[$__range]))"


def _ideal(scale: str, rate: str) -> str:
    return f"{scale} * on (transport) group_left () max by (transport) ({rate} / {scale})"


def _p99(chosen: str) -> str:
    """Return the query of the same windows' p99: native histograms are added up before the quantile is taken."""
    windows = (
        f"sum by (namespace, transport) ({RATES}) * on (namespace, transport) group_left (replicas, workers)"
        f" namespace_transport_replicas_workers:wirebench_processes:product{{{CHOSEN}}} ^ 0"
        f" and on (namespace, transport) {_settled(chosen)}"
    )
    return measure_durations("histogram_quantile(0.99,", f"sum_over_time(({windows})[$__range:5s])", _BY_SCALE)


def _grow(name: str, series: str, other: str) -> tuple[Chart, Chart]:
    """Return what more workers, or more replicas, bring at the number of the other that is chosen above."""
    chosen = f'{CHOSEN}, {other}="${other}"'
    scale, rate = _scale(series, chosen), _rate(chosen)
    place = Query(scale, name, unit=units.Short)
    return (
        Chart(
            title=f"Requests/s by {name}, beside the ideal",
            description=f"What services answered at each number of {name}, with the {other} that are chosen above: the "
            "median of all windows in the time range in which neither the scale nor the rate changed. Dashed is as "
            f"many times the most per one of the {name}. The load has to ask for it: use a closed one. Bad: points far "
            "below that line: see below what is shared badly or used up.",
            unit=units.RequestsPerSecond,
            queries=(place, Query(rate, "requests/s"), Query(_ideal(scale, rate), "ideal", dashed=True)),
            kind="curve",
        ),
        Chart(
            title=f"p99 by {name}",
            description="Service time at the client in the same windows, by wireload, or k6 where that sent none. Bad: "
            f"it grows with the number of {name} under the same load: they are in each other's way.",
            unit=units.Seconds,
            queries=(place, Query(_p99(chosen), "p99")),
            kind="curve",
        ),
    )


_GROWTH = Row(
    "Worker scaling: what do more workers and replicas bring?",
    (*_grow("workers", "workers:max", "replicas"), *_grow("replicas", "replicas:count", "workers")),
)

_SETTLED, _RATE, _PROCESSES = _settled(CHOSEN), _rate(CHOSEN), _scale("processes:product", CHOSEN)
_FIGURES = Row(
    "What does each scale bring?",
    (
        Chart(
            title="By replicas × workers",
            description="The same windows, with all scales. Efficiency is the share of the ideal requests/s, which are "
            "as many times the most per process. Bad: an efficiency that falls.",
            unit=units.Short,
            queries=(
                Query(f"{_PROCESSES} and {_RATE}", "processes"),
                Query(_RATE, "requests/s", unit=units.RequestsPerSecond),
                Query(_p99(CHOSEN), "p99", unit=units.Seconds),
                Query(f"{_RATE} / ({_ideal(_PROCESSES, _RATE)})", "efficiency", unit=units.PercentUnit),
            ),
            kind="table",
            sort=("transport", "processes"),
            lowest=None,
        ),
    ),
)


def _rate_of(labels: str) -> str:
    return f"{labels}:wirebench_requests:rate15s{{{CHOSEN}}}"


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
            title="Requests per replica",
            description="Lines of a transport should be alike. Bad: one is high and the others are not, as gRPC's few "
            "long connections make them behind a ClusterIP.",
            unit=units.RequestsPerSecond,
            queries=(Query(_rate_of("namespace_transport_pod"), "{{transport}} {{pod}}"),),
        ),
        Chart(
            title="Requests per worker",
            description="Of each worker by its process id (0 in Go) that has had a request. Bad: lines of a replica "
            "that differ: the kernel spreads connections by chance, and few connections are spread badly. Choose one "
            "transport above where lines are many.",
            unit=units.RequestsPerSecond,
            queries=(Query(_rate_of("namespace_transport_pod_worker"), "{{transport}} {{pod}} {{worker}}"),),
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
    ),
)

_LIMITS = Row(
    "What holds it back?",
    (
        Chart(
            title="CPU used of the limit, busiest replica",
            description="Between the last two samples of cAdvisor, 10 to 15 s apart. At the line a replica gives what "
            "its limit allows and no more: only then is its rate a capacity. Bad: there where none should be full.",
            unit=units.PercentUnit,
            queries=(Query(f"max by (transport) (sum by (namespace, pod) ({_LIMIT_USED})" + _OF_TRANSPORT + ")"),),
            needs="cAdvisor, which Kubernetes has",
            limit=1,
        ),
        Chart(
            title="CPU throttling, worst replica",
            description="Periods a second in which a replica met its CPU limit and had to wait for the next; a "
            "period is 100 ms, so that 10 is all of them. Bad: anything above 0 when latency matters: a request that "
            "is caught waits for up to 100 ms, and p99 shows it first.",
            unit=units.CountsPerSecond,
            queries=(Query(f"max by (transport) (sum by (namespace, pod) ({_THROTTLED})" + _OF_TRANSPORT + ")"),),
            needs="a CPU limit, and cAdvisor, which Kubernetes has",
            soft_highest=1,
        ),
    ),
)


def _choose(label: str, compared: str) -> Variable:
    """Return the choice beside which scales are compared, of those under load; Grafana begins with the fewest."""
    windows = _settled('namespace="$namespace"')
    return Variable(label, f"{label.capitalize()}, to compare {compared}", values_of(windows, label), several=False)


SCALING = Board(
    uid="wirebench-scaling",
    title="wirebench: scaling",
    description="What more replicas and workers bring, whether they share the work, and what holds them back. On "
    "nodes that are one machine, such as kind's, limits make the curve and nodes do not.",
    variables=(NAMESPACE, TRANSPORT, _choose("replicas", "workers"), _choose("workers", "replicas")),
    rows=(_GROWTH, _FIGURES, _TIME, _FAIRNESS, _LIMITS),
)
