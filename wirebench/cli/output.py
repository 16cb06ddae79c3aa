"""What the terminal shows: errors, warnings, and a run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.compare_runs import RunComparison
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.cli.table import print_table
from wirebench.errors import WirebenchError
from wirebench.model.labels import name_gate, pluralise
from wirebench.present import remarks
from wirebench.present.caveats import list_caveats
from wirebench.present.escape import escape_controls
from wirebench.present.run_comparison_sentences import describe_change, summarise_comparison
from wirebench.present.run_comparison_sentences import list_caveats as list_comparison_caveats
from wirebench.present.sentences import describe_correction, describe_few_blocks
from wirebench.present.table import make_change_table, make_terminal_table, make_verdict_table
from wirebench.results.runs import DamagedRun, Run

_ERROR_TEXTS_SHOWN = 5
_VERDICTS = "Ratios with 95 % intervals; !: a gate failed for it"
_CHANGES = "Ratios of head to base with 95 % intervals; !: a gate failed for it"
_AGREEMENT = "How far the drivers agree on the same service"


def warn_of_damaged(run: DamagedRun) -> None:
    sys.stderr.write(f"warning: skipped {run.folder}, which can't be read: {run.reason}\n")


def warn_of_index(error: WirebenchError) -> None:
    """Warn on stderr that a run isn't in the index."""
    next_step = "next: fix that; `wirebench serve` adds what is missing"
    sys.stderr.write(f"warning: {error.message}; the run isn't in the index\n{next_step}\n")


def print_comparison(found: RunComparison, console: Console, *, is_verbose: bool) -> None:
    """Print a table of the cells of two runs, a sentence a cell if asked for, and what all of them come to."""
    console.print(f"\nbase {found.base.id}, head {found.head.id}", style="bold", soft_wrap=True)
    _print_alike([change.subject for change in found.changes], console)
    console.print(_CHANGES, soft_wrap=True)
    print_table(make_change_table(found.changes), console)
    for change in found.changes if is_verbose else ():
        console.print(f"• {describe_change(change)}", soft_wrap=True)
    for caveat in list_comparison_caveats(found):
        console.print(f"! {caveat}", style="yellow", soft_wrap=True)
    console.print(summarise_comparison(found), style="bold", soft_wrap=True)


def print_run(run: Run, console: Console) -> None:
    """Print a run on what `make_console` returns: its question, a table of cells, a sentence a comparison, failures."""
    cells = summarise(run.records, run.info.compare)
    console.print(f"\n{run.info.question}", style="bold")
    if run.info.status != "complete":
        done = f"{len(run.records)} of {pluralise(run.info.cells * run.info.blocks, 'window')}"
        console.print(
            f"This run is {run.info.status}: {run.info.reason or 'it is still running'}; {done} are measured.",
            style="yellow",
        )
    if run.info.status == "incomplete":
        console.print(f"`wirebench resume {run.info.id}` measures the rest, where these were measured.", style="yellow")
    if cells:
        _print_figures(run, cells, console)


def _print_figures(run: Run, cells: Sequence[CellSummary], console: Console) -> None:
    _print_alike(cells, console)
    print_table(make_terminal_table(cells), console)
    blocks = max(len(cell.records) for cell in cells)
    if blocks > 1:
        console.print(
            f"Requests and errors are sums of {blocks} blocks, latencies of all requests; others are geometric means.",
            soft_wrap=True,
        )
    comparisons = find_comparisons(run)
    for heading, instruments in ((_VERDICTS, False), (_AGREEMENT, True)):
        if shown := [each for each in comparisons if each.instruments == instruments]:
            console.print(f"\n{heading}", style="bold", soft_wrap=True)
            print_table(make_verdict_table(shown), console)
    for sentence in remarks.write_answer(run, comparisons):
        console.print(f"• {sentence}", soft_wrap=True)
    for remark in (
        *filter(None, [describe_correction(comparisons)]),
        *remarks.describe_handshakes(cells),
        *remarks.list_notes(cells),
    ):
        console.print(f"• {remark}", soft_wrap=True)
    for warning in (
        *list_caveats(run),
        *filter(None, [describe_few_blocks(comparisons)]),
        *_describe_failed_gates(cells),
        *_describe_errors(cells),
    ):
        console.print(f"! {warning}", style="yellow", soft_wrap=True)


def _print_alike(cells: Sequence[CellSummary], console: Console) -> None:
    if alike := remarks.describe_common_factors(cells):
        console.print(f"{'All cells' if len(cells) > 1 else 'The cell'}: {alike}", soft_wrap=True)


def _describe_failed_gates(cells: Sequence[CellSummary]) -> Iterator[str]:
    failed = [gate for cell in cells for gate in cell.failed_gates()]
    for name, count in Counter(gate.name for gate in failed).items():
        advice = next(gate.advice for gate in failed if gate.name == name)
        yield f"gate {name_gate(name)} failed in {pluralise(count, 'cell')}: {advice}"


def _describe_errors(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Describe the most frequent errors with their counts, and the cells that had most of them."""
    met: dict[str, Counter[str]] = {}
    for cell in cells:
        for error in cell.errors:
            met.setdefault(f"{error.code}: {error.message}", Counter())[cell.full_name] += error.count
    by_count = sorted(met.items(), key=lambda each: -each[1].total())
    for text, counts in by_count[:_ERROR_TEXTS_SHOWN]:
        cell_name, _ = counts.most_common(1)[0]
        where = cell_name if len(counts) == 1 else f"{pluralise(len(counts), 'cell')}, most in {cell_name}"
        yield f"{counts.total():,}× {escape_controls(text)} ({where})"
    if len(by_count) > _ERROR_TEXTS_SHOWN:
        yield f"{pluralise(len(by_count) - _ERROR_TEXTS_SHOWN, 'more error text')} in the report"
