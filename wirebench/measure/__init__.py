"""From a driver's run to a record: what was counted, what was used, and whether it is fit to be used."""

from __future__ import annotations

from wirebench.measure.cell import Subject, measure_cell

__all__ = ["Subject", "measure_cell"]
