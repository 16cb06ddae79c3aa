"""`wirebench size`: how many replicas a rate needs under a latency objective, from what runs have measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from wirebench.analysis.sizing import P99_MAX_MS, RATE_MAX_PER_S, UTILISATION, Sizing, SizingObjective, compute_sizes
from wirebench.cli.options import Json, Out, make_run_argument
from wirebench.cli.output import make_console, print_json, warn_of_damaged
from wirebench.cli.table import print_table
from wirebench.errors import UsageError
from wirebench.present.sizing import LEGEND, describe_sizing, make_size_table, make_sizing_data
from wirebench.results.runs import DEFAULT_FOLDER, LAST, find_run

_LATENCY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s)", re.ASCII)


def size(  # noqa: PLR0913 - one parameter an option
    runs: Annotated[list[str] | None, make_run_argument("A run, or several")] = None,
    *,
    rate: Annotated[float, typer.Option(metavar="NUMBER", help="Requests/s to serve.")],
    p99: Annotated[str, typer.Option(metavar="TIME", help="The p99 to keep: 50ms, 1.5s.")],
    utilisation: Annotated[
        float,
        typer.Option(metavar="SHARE", help="How much of what it serves within the p99 each replica is planned for."),
    ] = UTILISATION,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Compute how many replicas a rate needs.

    It takes measured rates that keep the p99, and says what is extrapolated. Each run is used by itself.
    """
    objective = make_objective(rate, p99, utilisation)
    found = [compute_sizes(find_run(name, out, warn_of_damaged), objective) for name in dict.fromkeys(runs or [LAST])]
    if not any(each.sizes for each in found):
        reasons = [line for each in found for line in describe_sizing(each, objective)]
        raise UsageError("no run here has a load that can be used", _suggest(found), "\n".join(reasons))
    if json:
        print_json([make_sizing_data(each, objective) for each in found])
        return
    for each in found:
        _print(each, objective, make_console())


def _suggest(found: Sequence[Sizing]) -> str:
    """Return what to do where nothing can be used."""
    shortfalls = [shortfall for each in found for shortfall in each.shortfalls]
    if not shortfalls:
        return "`wirebench run workers` measures such loads"
    if any(not each.failed_gates for each in shortfalls):
        return "allow a longer --p99, or measure lighter loads, such as `wirebench run workers --concurrency 1`"
    return f"`wirebench results {found[0].run.info.id}` says what to do about gates; then run it again"


def make_objective(rate: float, p99: str, utilisation: float) -> SizingObjective:
    """Return what is asked for. Raises UsageError."""
    if not 0 < rate <= RATE_MAX_PER_S:
        raise UsageError(
            f"--rate {rate:g}: must be above 0, at most {RATE_MAX_PER_S:,.0f}",
            "give the requests/s to serve: --rate 20000",
        )
    if not 0 < utilisation <= 1:
        raise UsageError(f"--utilisation {utilisation:g}: not a share above 0 and up to 1", "write it like 0.7")
    return SizingObjective(rate, parse_latency_ms(p99), utilisation)


def parse_latency_ms(text: str) -> float:
    """Return how many milliseconds `50ms` or `1.5s` are. Raises UsageError."""
    found = _LATENCY.fullmatch(text.strip())
    latency_ms = float(found[1]) * (1000 if found[2] == "s" else 1) if found else 0.0
    if not 0 < latency_ms <= P99_MAX_MS:
        raise UsageError(
            f"--p99 {text!r}: must be a time above 0 ms, at most {P99_MAX_MS / 1000:g} s", "write it like 50ms or 1.5s"
        )
    return latency_ms


def _print(of: Sizing, objective: SizingObjective, console: Console) -> None:
    """Print a table of sizes, and what they rest on."""
    console.print(f"\n{of.run.info.id}", style="bold")
    if of.sizes:
        print_table(make_size_table(of), console)
        console.print(LEGEND, style="dim")
    for line in describe_sizing(of, objective):
        console.print(f"• {line}", soft_wrap=True)
