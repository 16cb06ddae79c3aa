"""The load tools, one adapter each: every one hands back the same histogram file."""

from __future__ import annotations

from wirebench.drivers.driver import Driver, Job
from wirebench.drivers.ghz import Ghz
from wirebench.drivers.histogram import Histogram
from wirebench.drivers.histogram_file import HistogramFile
from wirebench.drivers.k6 import K6

DRIVERS: dict[str, Driver] = {"k6": K6(), "ghz": Ghz()}

__all__ = ["DRIVERS", "K6", "Driver", "Ghz", "Histogram", "HistogramFile", "Job"]
