"""What each driver can do, and why it can't do the rest: for errors before anything starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from wirebench.model.application import Operation, find_headers
from wirebench.model.cell import Cell
from wirebench.model.contract import Driver, Transport
from wirebench.model.variant import VARIABLE

#: The longest window of a driver that keeps every request until it ends: k6 writes a gigabyte of them, and ghz drops
#: those beyond a million.
REPLAYED_S_MAX = 120.0
#: Memory of a driver without users.
_DRIVER_MIB = 60
#: Memory that a user takes, in KiB: the most that was seen of 1,000 to 10,000 users of small requests.
_USER_KIB: Mapping[tuple[Driver, Transport], int] = {
    ("wireload", "rest"): 40,
    ("wireload", "grpc"): 60,
    ("wireload", "socket"): 32,
    ("k6", "rest"): 640,
}
#: Drivers that send rendered requests in turn, each once, so that they may write.
_REPLAYING_IN_TURN = ("k6",)


def estimate_memory_mib(driver: Driver, transport: Transport, users: int) -> int:
    """Return how much memory so many users take, with the driver itself; 0 where it isn't known."""
    user_kib = _USER_KIB.get((driver, transport), 0)
    return math.ceil(user_kib * users / 1024) + _DRIVER_MIB if user_kib else 0


def explain_unsupported(
    driver: Driver,
    cell: Cell,
    window_s: float,
    operations: Sequence[Operation],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return why a driver can't replay the requests of a cell for so long; empty if it can.

    `headers` are those of its variant. wireload renders requests before the load: only it can react to replies.
    """
    if driver == "wireload":
        return ""
    if len(operations) > 1:
        return "it replays the requests of one operation"
    (operation,) = operations
    request = operation.find_request(cell.transport, cell.variant) or {}
    _, own = find_headers(request)
    replaced = {name.lower() for name in own}
    sent = {**{name: text for name, text in headers.items() if name.lower() not in replaced}, **own}
    repeats = not (driver in _REPLAYING_IN_TURN and cell.rate_per_s)
    varies, status = any("{" in text for text in sent.values()), request.get("expect", {}).get("status", 200)
    has_variables = any(map(VARIABLE.search, sent.values()))
    reasons = {
        f"it keeps every request until it ends, and so may take {REPLAYED_S_MAX:.0f} s at most": (
            window_s > REPLAYED_S_MAX
        ),
        "it replays requests with one reply each": operation.stream,
        "what it deletes has to be created before, which only replies tell": operation.deletes,
        "it repeats requests, and those that write can be sent once only": operation.writes and repeats,
        "values of environment variables would stand in a file": has_variables,
        "it varies the URL alone, and sends no body": driver == "oha" and (varies or request.get("body") is not None),
        "it sends the same metadata with all calls": driver == "ghz" and varies,
        "it finds replicas by their common name, and proxies and own services have none": (
            driver == "ghz" and cell.balancing == "headless" and (cell.delay_ms is not None or bool(cell.variant))
        ),
        f"it counts status {status} as a failure": driver != "ghz" and status // 100 != 2,  # noqa: PLR2004 - 2xx
    }
    return next((why for why, applies in reasons.items() if applies), "")
