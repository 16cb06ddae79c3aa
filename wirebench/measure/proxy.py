"""The route of a load to its service: direct, or through a proxy that simulates a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from wirebench.drivers import Job
from wirebench.measure.toxiproxy import start_toxiproxy


@contextmanager
def open_route(job: Job) -> Iterator[tuple[Job, tuple[int, ...]]]:
    """Open the route that a job's cell asks for; yield the job with the addresses to send to, and the proxy's process.

    Raises WirebenchError, at the end also if the proxy has died.
    """
    delay_ms = job.cell.delay_ms
    if delay_ms is None:
        yield job, ()
        return
    with start_toxiproxy(job.log.with_suffix(".toxiproxy.log"), job.cores) as proxy:
        replicas_behind = tuple(proxy.open_route(each, delay_ms) for each in job.replicas)
        routed = replace(job, address=proxy.open_route(job.address, delay_ms), replicas=replicas_behind)
        yield routed, (proxy.child.pid,)
