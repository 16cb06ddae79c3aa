"""Tables as JSON: an object with the rows, a line each, and their number."""

from __future__ import annotations

from typing import Any, BinaryIO

from pydantic import TypeAdapter

from wirebench.tables.table import Table


def write_json(file: BinaryIO, table: Table) -> None:
    """Write what the API answers, but for its pages."""
    adapter: TypeAdapter[Any] = TypeAdapter(table.row)
    file.write(b'{"%s": [' % table.name.encode())
    count = 0
    for row in table.rows:
        file.write(b",\n" if count else b"\n")
        file.write(adapter.dump_json(row))
        count += 1
    file.write(b'\n], "count": %d}\n' % count)
