"""Drivers measured against the truth."""
