"""Counters, CPU, conformance, calibration and gates: from a cell to its record."""
