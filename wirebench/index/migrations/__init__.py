"""How the tables of the index come to be, step by step. `SCHEMA` is the newest step."""

from __future__ import annotations

SCHEMA = "0001"
#: Where a database says which step it has reached.
VERSION_TABLE = "wirebench_index_version"
