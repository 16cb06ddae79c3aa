"""`wirebench export`: results or runs as a file for other programs, the rows that the API has."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from wirebench.cli.options import STDOUT, Out, RunFilters, check_folder
from wirebench.cli.output import warn_of_damaged
from wirebench.errors import UsageError
from wirebench.results.runs import DEFAULT_FOLDER
from wirebench.system.files import open_atomic

_Levels = list[str] | None
_FormatName = Literal["csv", "parquet", "json"]


def export(  # noqa: PLR0913 - one parameter an option
    rows: Annotated[
        Literal["results", "runs"], typer.Argument(help="Results, a row for each cell of each run, or runs.")
    ] = "results",
    *,
    run: Annotated[_Levels, typer.Option("--run", metavar="RUN", help="Runs. Filters can be repeated: any.")] = None,
    scenario: Annotated[_Levels, typer.Option(metavar="NAME", help="Scenarios.")] = None,
    transport: Annotated[
        _Levels, typer.Option("--transport", "--protocol", metavar="NAME", help="Transports: rest, grpc, socket.")
    ] = None,
    variant: Annotated[_Levels, typer.Option(metavar="NAME", help="Variants of your own services.")] = None,
    driver: Annotated[_Levels, typer.Option("--driver", "--client", metavar="NAME", help="Drivers: k6, ghz …")] = None,
    concurrency: Annotated[_Levels, typer.Option(metavar="N", help="Connections at a time.")] = None,
    operation: Annotated[_Levels, typer.Option(metavar="NAME", help="Operations.")] = None,
    filters: RunFilters,
    format_name: Annotated[
        _FormatName | None, typer.Option("--format", help="Default: by the ending of the file's name; csv for stdout.")
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="File to write, whole or not at all; - is stdout.")] = (
        STDOUT
    ),
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Export results or runs, for spreadsheets and notebooks."""
    given = {
        "run_id": run,
        "scenario": scenario,
        "transport": transport,
        "variant": variant,
        "driver": driver,
        "concurrency": concurrency,
        "operation": operation,
        **filters.given,
    }
    chosen = format_name or _find_format(output)
    if chosen == "parquet" and output == STDOUT and sys.stdout.isatty():
        raise UsageError("Parquet is binary and isn't written to a terminal", "name a file: --output FILE")
    from wirebench.results.export import make_table, write_table
    from wirebench.results.index import Filters, Index, find_database_url

    selected = Filters.read((name, level) for name, levels in given.items() for level in levels or ())
    with Index(find_database_url(check_folder(out))) as index:
        for damaged in index.catch_up(out).damaged:
            warn_of_damaged(damaged)
        if not index.runs(selected, limit=1).rows:
            raise UsageError(f"no run in {out}/ matches", "`wirebench list` shows the runs")
        with contextlib.nullcontext(sys.stdout.buffer) if output == STDOUT else open_atomic(output) as file:
            write_table(chosen, file, make_table(index, rows, selected))
    if output != STDOUT:
        sys.stdout.write(f"{output}\n")


def _find_format(output: Path) -> _FormatName:
    """Return the format that the file's name asks for. Raises UsageError if it is unknown."""
    if output == STDOUT:
        return "csv"
    formats: tuple[_FormatName, ...] = get_args(_FormatName)
    for name in formats:
        if output.suffix.lower() == f".{name}":
            return name
    endings = ", ".join(f".{name}" for name in formats)
    raise UsageError(f"--output {output}: unknown format", f"end the name in one of {endings}, or add --format")
