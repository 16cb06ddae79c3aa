"""`wirebench reproduce`: the same scenario here, and whether the verdicts hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from wirebench.analysis.compare_cells import Comparison
from wirebench.cli import options as common
from wirebench.cli.import_ import STDIN, open_input
from wirebench.cli.measure import PlannedRun, conclude, make_temporary_folder, measure
from wirebench.cli.output import make_console, print_json, print_run, warn_of_damaged
from wirebench.cli.send import send_when_over
from wirebench.cli.target import Seed, make_target_options
from wirebench.model.scenario import BLOCKS_MAX
from wirebench.present import reproduction
from wirebench.results.bundle.importing import unpack
from wirebench.results.runs import DEFAULT_FOLDER, Run, find_run, make_run_id
from wirebench.run.repetition import plan_again
from wirebench.system.files import is_file, make_write_error

_BUNDLES_END = ".tar.gz"


def reproduce(  # noqa: PLR0913 - one parameter an option
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|RUN",
            help="A bundle (- is stdin), or a run that is here.",
            autocompletion=common.complete_runs,
        ),
    ],
    *,
    target: Annotated[str | None, common.make_target_option("Where services run", "as they did")] = None,
    blocks: Annotated[int | None, typer.Option(min=1, max=BLOCKS_MAX, help="Default: as many as there were.")] = None,
    seed: Seed = None,
    application: common.ApplicationFile = None,
    cluster: common.Cluster,
    addresses: common.Addresses,
    tls_files: common.TlsOptions,
    out: common.Out = DEFAULT_FOLDER,
    calibrate: common.Calibrate = None,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Run a scenario again here, and check whether its verdicts hold.

    It is that of a bundle or of a run. The exit code is 1 if a verdict doesn't hold: two verdicts contradict each other
    if both are conclusive and differ.
    """
    verbosity.apply()
    with _find_run(file, out) as original:
        options = make_target_options(
            target or original.info.target,
            addresses.by_transport,
            tls_files.load(),
            cluster,
            has_variants=original.info.application is not None,
        )
        bundle = file if _is_bundle(file) else ""
        plan = plan_again(original, options, application, name=bundle, blocks=blocks, seed=seed)
        name = make_run_id(original.info.scenario)
        with send_when_over(out / name, options.find_access()):
            reproduced = measure(PlannedRun(plan, options, out, name, calibrate=calibrate))
        found = reproduction.check_reproduction(original, reproduced)
    conclude(reproduced, lambda: _show(reproduced, found, json=json))
    if found.is_contradicted:
        raise typer.Exit(1)


@contextlib.contextmanager
def _find_run(file: str, out: Path) -> Iterator[Run]:
    """Yield a local run, or that of a bundle, which is unpacked while the `with` block runs. Raises UsageError.

    Nothing of a bundle is added to the results.
    """
    if not _is_bundle(file):
        yield find_run(file, out, warn_of_damaged)
        return
    with make_temporary_folder() as folder:
        try:
            with open_input(file) as stream:
                run, _ = unpack(stream, file, folder)
        except OSError as error:
            raise make_write_error(folder, error) from error
        yield run


def _is_bundle(file: str) -> bool:
    return file == STDIN or file.endswith(_BUNDLES_END) or is_file(Path(file))


def _show(reproduced: Run, found: reproduction.Reproduction, *, json: bool) -> None:
    if json:
        _print_json(found)
        return
    console = make_console()
    print_run(reproduced, console)
    console.print(f"\nWhat run {found.original.id} found, and what is found here:", style="bold")
    for each in found.comparisons:
        console.print(f"• {reproduction.describe_repetition(each)}", soft_wrap=True)
    for other in found.differences:
        console.print(f"! not the same: {reproduction.describe_difference(other)}", style="yellow", soft_wrap=True)
    console.print(reproduction.summarise_reproduction(found), style="bold", soft_wrap=True)


def _print_json(found: reproduction.Reproduction) -> None:
    print_json(
        {
            "original": found.original,
            "reproduced": found.reproduced,
            "held": found.count("held"),
            "contradicted": found.count("contradicted"),
            "open": found.count("open"),
            "summary": reproduction.summarise_reproduction(found),
            "comparisons": [
                {
                    "outcome": each.outcome,
                    "factor": each.original.factor,
                    "subject": each.original.subject.factors,
                    "baseline": each.original.baseline.factors,
                    "metric": each.original.metric.name,
                    "original": _describe_comparison(each.original),
                    "reproduced": each.reproduced and _describe_comparison(each.reproduced),
                    "sentence": reproduction.describe_repetition(each),
                }
                for each in found.comparisons
            ],
            "differences": [
                {"name": each.name, "original": each.base, "reproduced": each.head} for each in found.differences
            ],
        }
    )


def _describe_comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "verdict": comparison.verdict,
        "ratio": comparison.ratios.get(comparison.metric.name),
        "failed_gates": [gate.name for gate in comparison.failed_gates],
    }
