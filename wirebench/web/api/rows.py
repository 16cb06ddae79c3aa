"""`/results` and `/runs`: pages of rows as JSON, or all of them as a file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, BinaryIO, TypeVar, cast

from pydantic import Field
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from wirebench.results import export
from wirebench.results.index import PAGE_ROWS_MAX, Filters, Result, ResultPage, RunRow
from wirebench.results.query import ParameterError, Single
from wirebench.web.api.endpoint import ApiRequest
from wirebench.web.catalogue import Catalogue

#: The rows of a page, unless the query says otherwise, and of a file at most.
_PAGE_ROWS = 100
FILE_ROWS_MAX = 100_000
#: How much of a file is kept in memory; a longer one is on disk until it is sent.
_MEMORY_BYTES_MAX = 8 << 20
_CHUNK_BYTES = 1 << 16
_QUALITY = re.compile(r";\s*q=([01](?:\.[0-9]*)?)")
_Page = TypeVar("_Page")


class RowQuery(Filters):
    """Filters, and which of the rows that match are wanted in which form."""

    limit: Single[Annotated[int, Field(ge=1, le=FILE_ROWS_MAX)]] = Field(
        None,
        description=f"Rows: 1 to {PAGE_ROWS_MAX:,} as JSON, {_PAGE_ROWS} if it isn't given; "
        f"1 to {FILE_ROWS_MAX:,} in a file, all if it isn't given.",
    )
    cursor: Single[str] = Field(None, description="Where the page begins: next_cursor of the page before.")
    format: Single[export.FormatName] = Field(
        None, description="The format; if it isn't given, what the header Accept prefers."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Results of the newest runs first: `count` of the `total` that match. The last page has no next cursor."""

    results: tuple[Result, ...]
    count: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs, the newest first: `count` of the `total` that match. The last page has no next cursor."""

    runs: tuple[RunRow, ...]
    count: int
    total: int
    next_cursor: str | None


def results(asked: ApiRequest[RowQuery]) -> Results | Response:
    """Find results: a row for each cell of each run."""
    return _find(asked, "results", Results)


def runs(asked: ApiRequest[RowQuery]) -> Runs | Response:
    """Find runs; filters of cells find those that have such a cell."""
    return _find(asked, "runs", Runs)


def _find(asked: ApiRequest[RowQuery], name: export.TableName, kind: Callable[..., _Page]) -> _Page | Response:
    query = asked.query
    format_name = query.format or _choose_format(asked.accept)
    with asked.catalogue.index() as index:
        find: Callable[..., ResultPage[Any]] = index.results if name == "results" else index.runs
        if format_name == "json":
            limit = query.limit or _PAGE_ROWS
            if limit > PAGE_ROWS_MAX:
                hint = "continue with next_cursor, or ask for a file: format=csv or parquet"
                reason = f"{limit:,} is more than the {PAGE_ROWS_MAX:,} rows that a page of JSON has"
                raise ParameterError("limit", reason, hint)
            page = find(query, limit=limit, cursor=query.cursor)
            rows = {name: page.rows}
            return kind(**rows, count=len(page.rows), total=page.total, next_cursor=page.next_cursor)
        total = find(query, limit=1).total
        if query.limit is None and total > FILE_ROWS_MAX:
            hint = "narrow the filters, give a limit, or use `wirebench export`"
            raise ParameterError("limit", f"{total:,} rows match, and a file has {FILE_ROWS_MAX:,} at most", hint)
        table = export.make_table(index, name, query, query.limit or FILE_ROWS_MAX, query.cursor)
        return _make_file(asked.catalogue, format_name, table)


def _choose_format(accept: str) -> export.FormatName:
    """Return the format that a header Accept prefers (RFC 9110, 12.5.1), as far as we have it; else JSON."""
    formats = {export.MEDIA_TYPES[name].partition(";")[0]: name for name in export.FORMATS}
    best: tuple[float, export.FormatName] = (0.0, "json")
    for part in accept.lower().split(","):
        media_type, quality = part.partition(";")[0].strip(), _QUALITY.search(part)
        if media_type in formats:
            best = max(best, (float(quality[1]) if quality else 1.0, formats[media_type]), key=lambda each: each[0])
    return best[1]


def _make_file(catalogue: Catalogue, format_name: export.FormatName, table: export.ExportTable) -> Response:
    """Answer with a file that is whole before its first byte is sent: what fails meanwhile is an answer of its own."""

    def rows() -> Iterator[object]:
        for row in table.rows:
            catalogue.check_running()
            yield row

    file = cast("BinaryIO", tempfile.SpooledTemporaryFile(_MEMORY_BYTES_MAX))  # noqa: SIM115 - open until it is sent
    try:
        export.write_table(format_name, file, replace(table, rows=rows()))
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
        chunks, headers=headers, media_type=export.MEDIA_TYPES[format_name], background=BackgroundTask(file.close)
    )
