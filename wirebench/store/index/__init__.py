"""The index database: finds runs and their figures without reading every record.

Run folders are the source of truth. The index is a cache; `wirebench serve` adds what it lacks.
"""

from __future__ import annotations

from wirebench.store.index.database import IndexUnusableError
from wirebench.store.index.index import Changes, Index
from wirebench.store.index.url import URL_VARIABLE, find_database_url
from wirebench.store.query import Filters
from wirebench.store.rows import PAGE_ROWS_MAX, Choices, Result, ResultPage, RunRow

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
