"""The index database: finds runs and their figures without reading every record.

Run folders are the source of truth. The index is a cache; `wirebench serve` adds what it lacks.
"""

from __future__ import annotations

from wirebench.results.index.database import IndexUnusableError
from wirebench.results.index.index import Changes, Index
from wirebench.results.index.url import URL_VARIABLE, find_database_url
from wirebench.results.query import Filters
from wirebench.results.rows import PAGE_ROWS_MAX, Choices, Result, ResultPage, RunRow

__all__ = [
    "PAGE_ROWS_MAX",
    "URL_VARIABLE",
    "Changes",
    "Choices",
    "Filters",
    "Index",
    "IndexUnusableError",
    "Result",
    "ResultPage",
    "RunRow",
    "find_database_url",
]
