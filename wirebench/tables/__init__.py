"""Rows as files that other programs read: JSON, CSV and Parquet, with the same columns in each."""

from __future__ import annotations

from wirebench.tables.formats import FORMATS, MEDIA_TYPES, FormatName, write_table
from wirebench.tables.of_index import results_table, runs_table
from wirebench.tables.table import Table

__all__ = ["FORMATS", "MEDIA_TYPES", "FormatName", "Table", "results_table", "runs_table", "write_table"]
