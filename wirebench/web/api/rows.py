"""`/results` and `/runs`: pages of rows as JSON, or all of them as a file."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import BinaryIO, TypeVar, cast

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from wirebench.errors import UsageError
from wirebench.index import PAGE_ROWS_MAX, Page
from wirebench.selection.filters import CURSOR, FILTERS, filters_of
from wirebench.selection.parameters import Parameter, ParameterError, one_of, whole
from wirebench.tables import FORMATS, MEDIA_TYPES, FormatName, Table, results_table, runs_table, write_table
from wirebench.web.api.answers import Results, Runs
from wirebench.web.api.endpoint import Asked, Endpoint

#: The rows of a page, unless the query says otherwise, and of a file at most.
_PAGE_ROWS = 100
FILE_ROWS_MAX = 100_000
#: How much of a file is kept in memory; a longer one is on disk until it is sent.
_MEMORY_BYTES_MAX = 8 << 20
_CHUNK_BYTES = 1 << 16

_Row = TypeVar("_Row")

_PARAMETERS = (
    *FILTERS,
    Parameter(
        name="limit",
        description=f"Rows: 1 to {PAGE_ROWS_MAX:,} as JSON, {_PAGE_ROWS} if it isn't given; "
        f"1 to {FILE_ROWS_MAX:,} in a file, all if it isn't given.",
        parse=whole(1, FILE_ROWS_MAX),
        schema={"type": "integer", "minimum": 1, "maximum": FILE_ROWS_MAX},
    ),
    CURSOR,
    Parameter(
        name="format",
        description=f"One of {', '.join(FORMATS)}; if it isn't given, what the header Accept prefers.",
        parse=one_of(*FORMATS),
        schema={"type": "string", "enum": list(FORMATS)},
    ),
)


def _results(asked: Asked) -> Results | Response:
    with asked.catalogue.index() as index:
        found = _found(asked, index.results, functools.partial(results_table, index))
    if isinstance(found, Response):
        return found
    return Results(results=found.rows, count=len(found.rows), total=found.total, next_cursor=found.next_cursor)


def _runs(asked: Asked) -> Runs | Response:
    with asked.catalogue.index() as index:
        found = _found(asked, index.runs, functools.partial(runs_table, index))
    if isinstance(found, Response):
        return found
    return Runs(runs=found.rows, count=len(found.rows), total=found.total, next_cursor=found.next_cursor)


def _found(asked: Asked, page_of: Callable[..., Page[_Row]], table_of: Callable[..., Table]) -> Page[_Row] | Response:
    """Return a page of the rows that are asked for, or all of them as a file."""
    filters, cursor, format_name = filters_of(asked.levels), asked.one("cursor"), _format(asked)
    with _cursor_named():
        if format_name == "json":
            return page_of(filters, limit=_page_limit(asked), cursor=cursor)
        limit = _checked_limit(asked, page_of(filters, limit=1).total)
        return _file(asked, format_name, table_of(filters, limit, cursor))


RESULTS = Endpoint(
    name="results",
    path="/results",
    summary="Find results: a row for each cell of each run.",
    answer=_results,
    answers=Results,
    parameters=_PARAMETERS,
    has_tables=True,
)
RUNS = Endpoint(
    name="runs",
    path="/runs",
    summary="Find runs; filters of cells find those that have such a cell.",
    answer=_runs,
    answers=Runs,
    parameters=_PARAMETERS,
    has_tables=True,
)


@contextmanager
def _cursor_named() -> Iterator[None]:
    """Name the parameter that the index refuses: the others are checked before it is asked."""
    try:
        yield
    except ParameterError:
        raise
    except UsageError as error:
        raise ParameterError("cursor", error.message.removeprefix("cursor: "), error.hint) from None


def _page_limit(asked: Asked) -> int:
    limit = int(asked.one("limit") or _PAGE_ROWS)
    if limit > PAGE_ROWS_MAX:
        hint = "go on with next_cursor, or ask for a file: format=csv or parquet"
        raise ParameterError(
            "limit", f"{limit:,} is more than the {PAGE_ROWS_MAX:,} rows that a page of JSON has", hint
        )
    return limit


def _checked_limit(asked: Asked, total: int) -> int:
    """Return how many rows a file has at most. Raises ParameterError if it would be cut off without being asked for."""
    limit = asked.one("limit")
    if limit is None and total > FILE_ROWS_MAX:
        hint = "narrow the filters, give a limit, or use `wirebench export`"
        raise ParameterError("limit", f"{total:,} rows match, and a file has {FILE_ROWS_MAX:,} at most", hint)
    return limit or FILE_ROWS_MAX


def _format(asked: Asked) -> FormatName:
    return asked.one("format") or _preferred(asked.accept)


def _preferred(accept: str) -> FormatName:
    """Return the format that a header Accept prefers (RFC 9110, 12.5.1), as far as we have it; else JSON."""
    formats = {MEDIA_TYPES[name].partition(";")[0]: name for name in FORMATS}
    best: tuple[float, FormatName] = (0.0, "json")
    for part in accept.split(","):
        media_type, *options = (each.strip().lower() for each in part.split(";"))
        quality = 1.0
        for option in options:
            if option.startswith("q="):
                with suppress(ValueError):
                    quality = float(option[2:])
        if media_type in formats and quality > best[0]:
            best = (quality, formats[media_type])
    return best[1]


def _file(asked: Asked, format_name: FormatName, table: Table) -> Response:
    """Answer with a file that is whole before its first byte is sent: what fails meanwhile is an answer of its own."""

    def rows() -> Iterator[object]:
        for row in table.rows:
            asked.catalogue.go_on()
            yield row

    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(_MEMORY_BYTES_MAX))  # noqa: SIM115 - open until it is sent
    try:
        write_table(format_name, file, replace(table, rows=rows()))
        headers = {
            "content-length": str(file.tell()),
            "content-disposition": f'attachment; filename="wirebench-{table.name}.{format_name}"',
            "vary": "Accept",
        }
        file.seek(0)
    except BaseException:
        file.close()
        raise
    chunks = iter(lambda: file.read(_CHUNK_BYTES), b"")
    return StreamingResponse(
        chunks, headers=headers, media_type=MEDIA_TYPES[format_name], background=BackgroundTask(file.close)
    )
