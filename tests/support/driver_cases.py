"""Each transport with each of its drivers, as parameters of tests."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from wirebench.drivers import DRIVERS
from wirebench.drivers.driver import SETUP, SETUP_CROSS_CHECK
from wirebench.model.contract import OPEN_LOAD_DRIVERS, TRANSPORTS, Driver, Transport
from wirebench.model.histogram_file import HistogramFile


def case(transport: Transport, driver: Driver) -> ParameterSet:
    """Return a transport and a driver: skipped where the driver isn't installed, slow where it is rarely."""
    absent = DRIVERS[driver].read_version() is None
    marks = [pytest.mark.skipif(absent, reason=f"{driver} is not installed: {DRIVERS[driver].setup}")]
    if DRIVERS[driver].setup not in (SETUP, SETUP_CROSS_CHECK):
        marks.append(pytest.mark.slow)
    return pytest.param(transport, driver, marks=marks, id=f"{transport}-{driver}")


_PAIRS = [(transport, driver) for transport, facts in TRANSPORTS.items() for driver in facts.drivers]
CASES = [case(transport, driver) for transport, driver in _PAIRS]
#: Enough for what is the same with any histogram file.
SETUP_CASES = [each for each in CASES if DRIVERS[str(each.values[1])].setup in (SETUP, SETUP_CROSS_CHECK)]
#: Those that know when a request was due.
OPEN_CASES = [case(transport, driver) for transport, driver in _PAIRS if driver in OPEN_LOAD_DRIVERS]


def quantiles_ms(file: HistogramFile, *quantiles: float, clock: str = "service") -> list[float]:
    """Return quantiles in milliseconds."""
    return [value / 1e6 for value in file.merge_histograms(clock).compute_quantiles_ns(*quantiles)]  # type: ignore[arg-type]
