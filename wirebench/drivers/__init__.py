"""The drivers, one adapter each: every one returns the same histogram file."""

from __future__ import annotations

from wirebench.drivers.driver import Driver, Job
from wirebench.drivers.ghz import Ghz
from wirebench.drivers.k6 import K6
from wirebench.drivers.locust import Locust
from wirebench.drivers.oha import Oha
from wirebench.drivers.wireload import Wireload

_ALL: tuple[Driver, ...] = (Wireload(), K6(), Ghz(), Oha(), Locust())
DRIVERS = {driver.name: driver for driver in _ALL}

__all__ = ["DRIVERS", "K6", "Driver", "Ghz", "Job"]
