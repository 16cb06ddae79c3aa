"""From a driver's run to a record: what was counted, what was used, and whether it is fit to be used."""

from __future__ import annotations

from wirebench.measure.cell import Subject, make_record
from wirebench.measure.observation import Observation
from wirebench.measure.observe import observe

__all__ = ["Observation", "Subject", "make_record", "observe"]
