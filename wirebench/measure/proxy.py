"""The route of a load to its service: direct, or through a proxy that simulates a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from wirebench.drivers import Job
from wirebench.measure.toxiproxy import start_toxiproxy
from wirebench.system.network_namespace import open_namespace

#: So many packets may wait in the kernel for their delay.
_QUEUED_PACKETS_MAX = "1000000"


@contextmanager
def open_route(job: Job) -> Iterator[tuple[Job, tuple[int, ...]]]:
    """Open the route that a job's cell asks for; yield the job with the addresses to send to, and the proxy's process.

    Raises WirebenchError, at the end also if the proxy has died.
    """
    delay_ms, loss_percent = job.cell.delay_ms, job.cell.loss_percent
    if delay_ms is None:
        yield job, ()
        return
    with start_toxiproxy(job.log.with_suffix(".toxiproxy.log"), job.cores) as proxy, ExitStack() as stack:
        if loss_percent is None:
            replicas_behind = tuple(proxy.open_route(each, delay_ms) for each in job.replicas)
            routed = replace(job, address=proxy.open_route(job.address, delay_ms), replicas=replicas_behind)
        else:
            namespace = stack.enter_context(open_namespace())
            namespace.shape(*build_netem(delay_ms, loss_percent))
            address = proxy.open_route(job.address, host=namespace.host_address)
            # Prometheus can't be reached from there.
            routed = replace(job, address=address, namespace=namespace, metrics_push=None)
        yield routed, (proxy.child.pid,)


def build_netem(delay_ms: int, loss_percent: float) -> tuple[list[str], list[str]]:
    """Return what the kernel does to packets towards the load and back; all of the delay is on the way to the load."""
    # All that is delayed has to fit: netem drops what is more than its limit, which is 1,000 packets by default.
    both = ["limit", _QUEUED_PACKETS_MAX, "loss", f"{loss_percent:g}%"]
    return [*both, *(("delay", f"{delay_ms}ms") if delay_ms else ())], both
