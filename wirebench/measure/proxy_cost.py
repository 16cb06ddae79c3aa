"""What a proxy costs a call by itself: the same call, straight and through the proxy, in turns."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

from wirebench.clients import Client, connect
from wirebench.model.application import builtin
from wirebench.processes import on_cores
from wirebench.scenario import Cell
from wirebench.tls import ClientTls

PAIRS_MAX = 100
#: However slow the service is, it doesn't take longer than about this.
DURATION_S_MAX = 1.0
_WARMUP_PAIRS = 10


@dataclass(frozen=True, slots=True)
class ProxyCost:
    """By how much a call took longer through the proxy, the median of pairs; and how many calls were sent in all."""

    added_ms: float
    pairs: int
    calls: int


def measure_proxy_cost(
    cell: Cell, straight: str, through: str, tls: ClientTls | None, cores: frozenset[int] | None
) -> ProxyCost:
    """Get a user again and again from a cell's service, at its address and through an unshaped proxy, on these cores.

    The two take turns, and turns at being first: what disturbs the machine disturbs both. Raises ClientError.
    """
    with ExitStack() as opened:
        opened.enter_context(on_cores(cores))
        clients = [
            opened.enter_context(closing(connect(cell.transport, address, codec=cell.codec, tls=tls)))
            for address in (straight, through)
        ]
        for _ in range(_WARMUP_PAIRS):
            _differ_ms(clients, 0)
        deadline = time.monotonic() + DURATION_S_MAX
        added_ms = [_differ_ms(clients, 0)]
        while len(added_ms) < PAIRS_MAX and time.monotonic() < deadline:
            added_ms.append(_differ_ms(clients, len(added_ms) % 2))
    pairs = len(added_ms)
    return ProxyCost(statistics.median(added_ms), pairs, 2 * (_WARMUP_PAIRS + pairs))


def _differ_ms(clients: list[Client], first: int) -> float:
    """Send one call by each of two clients; return by how much the second client's took longer."""
    took_ms = [0.0, 0.0]
    for which in (first, 1 - first):
        before = time.perf_counter()
        clients[which].call("users.get", {"id": builtin().seeded["users"].first})
        took_ms[which] = (time.perf_counter() - before) * 1e3
    return took_ms[1] - took_ms[0]
