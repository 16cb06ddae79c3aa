"""What each driver can do, and why it can't do the rest: for refusals, before anything starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wirebench.model.application import Operation, builtin
from wirebench.scenario.contract import TRANSPORTS, Driver, Transport


def _all(_: Operation) -> bool:
    return True


def _numbered(operation: Operation) -> bool:
    """Return whether a count of requests is all that it takes to make each request a new one."""
    return not (operation.stream or operation.deletes or (operation.creates and operation.find_input("repeat")))


def _reading(operation: Operation) -> bool:
    """Return whether it can be the same request again and again."""
    return not (operation.stream or operation.writes)


def _by_url(operation: Operation) -> bool:
    """Return whether its requests differ by nothing but the URL."""
    return _reading(operation) and not (operation.rest and operation.rest.body and operation.varies)


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What a driver can do; a reason is why it can't, and empty if it can.

    `sends` is whether it can send an operation. It reopens connections on the transports of `reopens`. `json_only`
    is about REST.
    """

    sends: Callable[[Operation], bool] = _all
    no_other_operation: str = ""
    no_open_load: str = ""
    reopens: frozenset[Transport] = frozenset()
    json_only: bool = True
    #: Whether it can be told when each single request is due.
    takes_moments: bool = False
    #: Whether it sends workloads of several operations, and a number of calls.
    sends_workloads: bool = False
    #: What it sends otherwise than the others do, where they choose at random.
    not_random: str = ""
    #: Whether it is in the image of a cluster's load pods.
    in_clusters: bool = False
    #: Memory that a user takes, in KiB; nothing where it wasn't measured.
    user_kib: Mapping[Transport, int] = field(default_factory=dict)


#: Memory of a driver without users.
_DRIVER_MIB = 60

DRIVERS: dict[Driver, DriverFacts] = {
    "wireload": DriverFacts(
        reopens=frozenset(TRANSPORTS),
        json_only=False,
        takes_moments=True,
        sends_workloads=True,
        in_clusters=True,
        # The most that was seen of 1,000 to 10,000 users of small requests: docs/method.md.
        user_kib={"rest": 40, "grpc": 60, "socket": 32},
    ),
    "k6": DriverFacts(
        reopens=frozenset(TRANSPORTS),
        json_only=False,
        takes_moments=True,
        sends_workloads=True,
        in_clusters=True,
        user_kib={"rest": 640, "grpc": 800, "socket": 560},
    ),
    "ghz": DriverFacts(
        sends=_numbered,
        no_other_operation="it sends one call over and over, and numbers what it creates",
        no_open_load="measures no queueing at a fixed rate, so an open load by it has no response time",
        in_clusters=True,
    ),
    "fortio": DriverFacts(
        sends=_reading,
        no_other_operation="it sends the same request over and over",
        not_random="fortio requests the same user each time, where others choose one at random",
        no_open_load="measures a fixed rate from the actual send, so an open load by it has no response time",
        reopens=frozenset({"rest"}),
    ),
    "oha": DriverFacts(
        sends=_by_url,
        no_other_operation="of a request, it varies the URL alone",
        reopens=frozenset({"rest"}),
    ),
    "locust": DriverFacts(
        sends=_numbered,
        no_other_operation="its users send one request over and over, and number what they create",
        no_open_load="paces its users by their replies, so an open load by it has no response time",
    ),
}


def memory_mib(driver: Driver, transport: Transport, users: int) -> int:
    """Return how much memory so many users take, with the driver itself; 0 where it isn't known."""
    user_kib = DRIVERS[driver].user_kib.get(transport, 0)
    return math.ceil(user_kib * users / 1024) + _DRIVER_MIB if user_kib else 0


def users_in(memory_mib_free: float, driver: Driver, transport: Transport) -> int | None:
    """Return how many users fit into so much memory; None where what they take isn't known."""
    user_kib = DRIVERS[driver].user_kib.get(transport)
    return max(0, int((memory_mib_free - _DRIVER_MIB) * 1024 / user_kib)) if user_kib else None


def who_can(transport: Transport, *, rate: bool = False, reopen: bool = False, operation: str | None = None) -> str:
    """Name the drivers of a transport that can do all that is asked for."""
    able = (
        name
        for name in TRANSPORTS[transport].drivers
        if not (rate and DRIVERS[name].no_open_load)
        and not (reopen and transport not in DRIVERS[name].reopens)
        and (operation is None or has(name, operation))
    )
    return " or ".join(able)


def has(driver: Driver, operation: str) -> bool:
    """Return whether a driver can send an operation."""
    if operation in builtin().operations:
        return DRIVERS[driver].sends(builtin().operations[operation])
    return DRIVERS[driver].sends_workloads  # a workload
