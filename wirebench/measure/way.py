"""The way of a load to its service: straight, or through a proxy that stands for a network."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wirebench.drivers import Job
from wirebench.measure.counters import count_since, read_replicas
from wirebench.measure.proxy_cost import ProxyCost, measure_proxy_cost
from wirebench.network import Toxiproxy, toxiproxy
from wirebench.targets.target import Replica


@dataclass(frozen=True, slots=True)
class Way:
    """A job that takes its way, and the proxy on it, if there is one, with what it costs, if that was measured here."""

    job: Job
    proxy_pids: tuple[int, ...] = ()
    cost: ProxyCost | None = None


@contextmanager
def way_of(job: Job, replicas: Sequence[Replica]) -> Iterator[Way]:
    """Have the way ready that a job's cell asks for; the calls that this takes have been counted by the replicas.

    Raises WirebenchError, in the end also if the proxy has died.
    """
    link = job.cell.link
    if link is None:
        yield Way(job)
        return
    with toxiproxy(job.log.with_suffix(".toxiproxy.log"), job.cores, job.seed) as proxy:
        # Of generators that share a load the first one measures, before the others send anything.
        cost = _cost(job, proxy, replicas) if job.generator[0] == 0 else None
        shaped = dataclasses.replace(
            job,
            address=proxy.open_way(job.address, link),
            replicas=tuple(proxy.open_way(each, link) for each in job.replicas),
        )
        yield Way(shaped, (proxy.child.pid,), cost)


def _cost(job: Job, proxy: Toxiproxy, replicas: Sequence[Replica]) -> ProxyCost:
    address = job.replicas[0] if job.replicas else job.address
    before = read_replicas(replicas)
    cost = measure_proxy_cost(job.cell, address, proxy.open_way(address), job.tls, job.cores)
    count_since(replicas, before, cost.calls)
    return cost
