"""The route of a load to its service: direct, or through a proxy that simulates a network, at a known cost."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from wirebench_services.client import Client

from wirebench.drivers import Job
from wirebench.measure.client import connect
from wirebench.measure.counters import count_since, read_replicas
from wirebench.model.application import load_builtin
from wirebench.system.network_namespace import open_namespace
from wirebench.system.processes import bind_to_cores
from wirebench.targets.endpoint import Replica
from wirebench.targets.toxiproxy import Toxiproxy, start_toxiproxy

PAIRS_MAX = 110
#: However slow the service is, it doesn't take longer than about this.
DURATION_S_MAX = 1.0
_WARMUP_PAIRS = 10
#: So many packets may wait in the kernel for their delay.
_QUEUED_PACKETS_MAX = "1000000"


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """A job with the addresses to send to; the proxy on the route, if any, and its cost, if measured here."""

    job: Job
    proxy_pids: tuple[int, ...] = ()
    #: By how much a call took longer through the proxy, the median of `pairs`.
    added_ms: float | None = None
    pairs: int = 0


@contextmanager
def route_job(job: Job, replicas: Sequence[Replica]) -> Iterator[ProxyRoute]:
    """Open the route that a job's cell asks for. Replicas have counted the calls that measured the proxy's cost.

    Raises WirebenchError, at the end also if the proxy has died.
    """
    delay_ms, loss_percent = job.cell.delay_ms, job.cell.loss_percent
    if delay_ms is None:
        yield ProxyRoute(job)
        return
    with start_toxiproxy(job.log.with_suffix(".toxiproxy.log"), job.cores) as proxy, ExitStack() as stack:
        # Of generators that share a load the first one measures, before the others send anything.
        # Our clients, which measure it, speak the built-in application alone.
        is_measured = job.generator[0] == 0 and not job.cell.variant
        cost: tuple[float | None, int] = _measure_cost(job, proxy, replicas) if is_measured else (None, 0)
        if loss_percent is None:
            replicas_behind = tuple(proxy.open_route(each, delay_ms) for each in job.replicas)
            job = dataclasses.replace(job, address=proxy.open_route(job.address, delay_ms), replicas=replicas_behind)
        else:
            namespace = stack.enter_context(open_namespace())
            namespace.shape(*build_netem(delay_ms, loss_percent))
            address = proxy.open_route(job.address, host=namespace.host_address)
            if job.metrics_push:
                job.metrics_push.problem = "Prometheus can't be reached from a network with packet loss"
            job = dataclasses.replace(job, address=address, namespace=namespace, metrics_push=None)
        yield ProxyRoute(job, (proxy.child.pid,), *cost)


def build_netem(delay_ms: int, loss_percent: float) -> tuple[list[str], list[str]]:
    """Return what the kernel does to packets towards the load and back; all of the delay is on the way to the load."""
    # All that is delayed has to fit: netem drops what is more than its limit, which is 1,000 packets by default.
    both = ["limit", _QUEUED_PACKETS_MAX, "loss", f"{loss_percent:g}%"]
    return [*both, *(("delay", f"{delay_ms}ms") if delay_ms else ())], both


def _measure_cost(job: Job, proxy: Toxiproxy, replicas: Sequence[Replica]) -> tuple[float, int]:
    """Get a user again and again from a job's service, at its address and through an unshaped proxy, on its cores.

    The two take turns at being first: what disturbs the machine disturbs both. Raises WirebenchError.
    """
    cell, straight = job.cell, (*job.replicas, job.address)[0]
    before = read_replicas(replicas)
    added_ms: list[float] = []
    with (
        bind_to_cores(job.cores),
        connect(cell.transport, straight, cell.codec, job.tls) as direct,
        connect(cell.transport, proxy.open_route(straight), cell.codec, job.tls) as through,
    ):
        deadline = time.monotonic() + DURATION_S_MAX
        while len(added_ms) < PAIRS_MAX and (len(added_ms) <= _WARMUP_PAIRS or time.monotonic() < deadline):
            turn = (direct, through) if len(added_ms) % 2 else (through, direct)
            took_ms = {client: _time_call_ms(client) for client in turn}
            added_ms.append(took_ms[through] - took_ms[direct])
    count_since(replicas, before, 2 * len(added_ms))
    measured = added_ms[_WARMUP_PAIRS:]
    return statistics.median(measured), len(measured)


def _time_call_ms(client: Client) -> float:
    before = time.perf_counter()
    client.call("users.get", {"id": load_builtin().seeded["users"]["first"]})
    return (time.perf_counter() - before) * 1e3
