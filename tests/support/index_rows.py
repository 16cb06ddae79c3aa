"""The rows of an index as they can be compared: by names, without the ids that a database gives."""

from __future__ import annotations

from typing import Any

from sqlalchemy import create_engine, select

from wirebench.store.index.tables import blocks, cells, gates, latencies, runs, statistics
from wirebench.store.index.url import parse

Rows = dict[str, list[tuple[Any, ...]]]


def rows_of(url: str) -> Rows:
    """Return all rows of all tables, sorted; each begins with its run, cell and block."""
    of_cell = cells.join(runs, cells.c.run == runs.c.id)
    selects = {
        "runs": select(runs),
        "cells": select(runs.c.run_id, cells).select_from(of_cell),
        **{
            table.name: select(runs.c.run_id, cells.c.cell, table).select_from(
                of_cell.join(table, table.c.cell_id == cells.c.id)
            )
            for table in (blocks, statistics, latencies, gates)
        },
    }
    engine = create_engine(parse(url))
    try:
        with engine.connect() as connection:
            return {
                name: sorted(
                    (
                        tuple(repr(value) for key, value in row._mapping.items() if key not in ("id", "run", "cell_id"))
                        for row in connection.execute(each)
                    ),
                )
                for name, each in selects.items()
            }
    finally:
        engine.dispose()
