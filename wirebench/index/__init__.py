"""The index database: finds runs and their figures without reading every record.

The truth is the folder of the runs: the index is written as records land, and can be made anew from them at any time.
"""

from __future__ import annotations

from wirebench.index.database import IndexUnusableError
from wirebench.index.folder import Changes, Progress
from wirebench.index.follower import IndexFollower
from wirebench.index.index import Contents, Index
from wirebench.index.model import PAGE_ROWS_MAX, Choices, Filters, KnownCell, Page, Result, RunRow
from wirebench.index.url import URL_VARIABLE, database_url, is_own, without_password

__all__ = [
    "PAGE_ROWS_MAX",
    "URL_VARIABLE",
    "Changes",
    "Choices",
    "Contents",
    "Filters",
    "Index",
    "IndexFollower",
    "IndexUnusableError",
    "KnownCell",
    "Page",
    "Progress",
    "Result",
    "RunRow",
    "database_url",
    "is_own",
    "without_password",
]
