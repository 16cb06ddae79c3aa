"""What each driver can do, and why it can't do the rest: for errors before anything starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wirebench.model.application import Operation
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.model.template import find_placeholders
from wirebench.model.variables import find_variables


def _can_be_numbered(operation: Operation) -> bool:
    """Return whether a count of requests is all that it takes to make each request a new one."""
    return not (operation.stream or operation.deletes or (operation.creates and operation.find_input("repeat")))


def _only_reads(operation: Operation) -> bool:
    """Return whether it can be the same request again and again."""
    return not (operation.stream or operation.writes)


def _differs_by_url(operation: Operation) -> bool:
    """Return whether its requests differ by nothing but the URL."""
    return _only_reads(operation) and not (operation.rest and operation.rest.body and operation.varies)


def _check_ghz_metadata(operation: Operation) -> str:
    """Return why ghz can't send an operation's metadata, which it reads from a file and sends with all calls."""
    metadata = operation.grpc.metadata if operation.grpc else {}
    if any(any(find_variables(text)) for text in metadata.values()):
        return "values of environment variables would stand in a file"
    return "it sends the same metadata with all calls" if any(find_placeholders(metadata)) else ""


def _check_plain_json(operation: Operation) -> str:
    """Return why a driver of REST that sends JSON without headers, and takes 2xx for success, can't send it."""
    if operation.rest and operation.rest.headers:
        return "it sends no headers of an application"
    if operation.sends_text:
        return "it sends JSON alone"
    if operation.rest and operation.rest.expect.status // 100 != 2:  # noqa: PLR2004 - 2xx
        return f"it counts status {operation.rest.expect.status} as a failure"
    return ""


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What a driver can do; a reason is why it can't, and empty if it can.

    `sends` is whether it can send an operation, and `no_request` why not its request. It reopens
    connections on the transports of `reopens`. What wireload alone can do isn't among them: workloads of several
    operations, a number of calls, a schedule of single requests, and REST in protobuf or over HTTP/2.
    """

    sends: Callable[[Operation], bool] = lambda _: True
    no_other_operation: str = ""
    no_request: Callable[[Operation], str] = lambda _: ""
    no_open_load: str = ""
    reopens: frozenset[Transport] = frozenset()
    #: Whether it is in the image of a cluster's load pods.
    in_clusters: bool = False
    #: Memory that a user takes, in KiB; nothing where it wasn't measured.
    user_kib: Mapping[Transport, int] = field(default_factory=dict)


#: The longest window that is sent at once: two cores' worth of ghz stay well under the million calls that it keeps.
PART_S_MAX = 20.0
#: Memory of a driver without users.
_DRIVER_MIB = 60

DRIVER_FACTS: dict[Driver, DriverFacts] = {
    "wireload": DriverFacts(
        reopens=frozenset(TRANSPORTS),
        in_clusters=True,
        # The most that was seen of 1,000 to 10,000 users of small requests: docs/method.md.
        user_kib={"rest": 40, "grpc": 60, "socket": 32},
    ),
    "k6": DriverFacts(
        sends=_only_reads,
        no_other_operation="its users send one request over and over",
        no_request=_check_plain_json,
        reopens=frozenset({"rest"}),
        in_clusters=True,
        user_kib={"rest": 640},
    ),
    "ghz": DriverFacts(
        sends=_can_be_numbered,
        no_other_operation="it sends one call over and over, and numbers what it creates",
        no_request=_check_ghz_metadata,
        no_open_load="measures no queueing at a fixed rate, so an open load by it has no response time",
        in_clusters=True,
    ),
    "oha": DriverFacts(
        sends=_differs_by_url,
        no_other_operation="of a request, it varies the URL alone",
        no_request=_check_plain_json,
        reopens=frozenset({"rest"}),
    ),
    "locust": DriverFacts(
        sends=_only_reads,
        no_other_operation="its users send one request over and over",
        no_request=_check_plain_json,
        no_open_load="paces its users by their replies, so an open load by it has no response time",
    ),
}


def count_parts(driver: Driver, window_s: float) -> int:
    """Return in how many parts a driver sends a window, each with a warm-up: most keep every request until they end."""
    return 1 if driver == "wireload" else math.ceil(window_s / PART_S_MAX)


def estimate_memory_mib(driver: Driver, transport: Transport, users: int) -> int:
    """Return how much memory so many users take, with the driver itself; 0 where it isn't known."""
    user_kib = DRIVER_FACTS[driver].user_kib.get(transport, 0)
    return math.ceil(user_kib * users / 1024) + _DRIVER_MIB if user_kib else 0


def count_fitting_users(memory_mib_free: float, driver: Driver, transport: Transport) -> int | None:
    """Return how many users fit into so much memory; None where what they take isn't known."""
    user_kib = DRIVER_FACTS[driver].user_kib.get(transport)
    return max(0, int((memory_mib_free - _DRIVER_MIB) * 1024 / user_kib)) if user_kib else None


def name_able_drivers(
    transport: Transport, *, rate: bool = False, reopen: bool = False, operations: Sequence[Operation] = ()
) -> str:
    """Name the drivers of a transport that can do all that is asked for."""
    able = (
        name
        for name in TRANSPORTS[transport].drivers
        if not (rate and DRIVER_FACTS[name].no_open_load)
        and not (reopen and transport not in DRIVER_FACTS[name].reopens)
        and not explain_unsupported(name, operations)
    )
    return " or ".join(able)


def explain_unsupported(driver: Driver, operations: Sequence[Operation]) -> str:
    """Return why a driver can't send an operation, or a workload of several; empty if it can."""
    can = DRIVER_FACTS[driver]
    able = driver == "wireload" or (len(operations) == 1 and can.sends(operations[0]))
    if operations and not able:
        return can.no_other_operation
    return next(filter(None, map(can.no_request, operations)), "")
