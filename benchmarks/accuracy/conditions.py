"""What drivers are measured under: how the server behaves, and how the load comes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError
from wirebench.model.contract import TRANSPORTS, Driver, Transport
from wirebench.plan.driver_support import DRIVER_FACTS as FACTS


@dataclass(frozen=True, slots=True)
class Traffic:
    """A load: closed, or open at a fixed rate."""

    concurrency: int
    rate_per_s: int | None = None

    def __str__(self) -> str:
        """Describe it."""
        model = f"open, {self.rate_per_s:,}/s on" if self.rate_per_s else "closed,"
        return f"{model} {self.concurrency} connection{'s' if self.concurrency > 1 else ''}"


LOADS = {
    "closed-1": Traffic(1),
    "closed-8": Traffic(8),
    "closed-64": Traffic(64),
    "open-400": Traffic(64, 400),
    "open-1500": Traffic(64, 1500),
    "open-5000": Traffic(64, 5000),
    # So many connections that no request that is due in a stall has to wait for one.
    "open-200": Traffic(400, 200),
}
#: In words; the flags are in FLAGS.
BEHAVIOURS = {
    "constant": "every request takes 5 ms",
    "two-modes": "90 % of requests take 2 ms, 10 % take 20 ms",
    "pareto": "requests take 2 ms at least, with a Pareto tail: 1 % take over 20 ms",
    "stall": "every request takes 5 ms, but none is answered for 1 s in the middle of the window",
    "null": "every request is answered as fast as possible",
}
FLAGS = {"two-modes": ("-latency", "2ms", "-slow", "20ms"), "pareto": ("-latency", "2ms", "-shape", "2")}
#: What is measured if nothing else is asked for.
_DEFAULT = (
    *itertools.product(["constant"], list(LOADS)[:6]),
    *itertools.product(["two-modes", "pareto"], ["closed-8", "open-1500"]),
    ("stall", "open-200"),
    *itertools.product(["null"], ["closed-1", "closed-8", "closed-64"]),
)
#: What is measured of wireload besides, so that all its limits are checked.
_OF_WIRELOAD = (
    *itertools.product(["two-modes", "pareto"], ["closed-1", "closed-64", "open-400", "open-5000"]),
    *itertools.product(["stall"], ["closed-1", "closed-8", "closed-64"]),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A driver on a transport, under one condition."""

    behaviour: str
    load: str
    transport: Transport
    driver: Driver

    def __str__(self) -> str:
        """Name it in progress lines."""
        return f"{self.driver} {self.transport} {self.behaviour} {self.load}"


def select_cases(
    drivers: Sequence[Driver], transports: Sequence[Transport], behaviours: Sequence[str], loads: Sequence[str]
) -> list[Case]:
    """Return the cases of installed drivers: all combinations of behaviours and loads if both are given.

    Without one of them the default conditions are reduced to the other. Raises UsageError if nothing is left.
    """
    for driver in drivers:
        if DRIVERS[driver].read_version() is None:
            raise UsageError(f"{driver} is not installed", f"run `{DRIVERS[driver].setup}`")
    installed = [name for name, driver in DRIVERS.items() if driver.read_version() and name in (drivers or DRIVERS)]
    conditions = tuple(itertools.product(behaviours, loads)) if behaviours and loads else (*_DEFAULT, *_OF_WIRELOAD)
    of_wireload = () if behaviours and loads else _OF_WIRELOAD
    cases = [
        Case(behaviour, load, transport, driver)
        for behaviour, load in conditions
        if behaviour in (behaviours or BEHAVIOURS) and load in (loads or LOADS)
        for transport in transports or TRANSPORTS
        for driver in TRANSPORTS[transport].drivers
        # Without a response clock an open load hides what it was sent for.
        if driver in installed and not (LOADS[load].rate_per_s and FACTS[driver].no_open_load)
        if driver == "wireload" or (behaviour, load) not in of_wireload
    ]
    if not cases:
        raise UsageError("no driver can send these loads", "choose others: make accuracy ARGS=--help")
    return cases
