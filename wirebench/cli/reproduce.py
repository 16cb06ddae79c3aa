"""`wirebench reproduce`: the same scenario here, and whether the verdicts hold."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson
import typer

from wirebench.cli.again import planned_again
from wirebench.cli.import_ import STDIN, opened
from wirebench.cli.options import (
    CaCert,
    Calibrate,
    Cert,
    Context,
    Grpc,
    Json,
    Key,
    Kubeconfig,
    Out,
    Rest,
    Socket,
    ValuesFiles,
    given_addresses,
    given_tls,
)
from wirebench.cli.output import print_run, stdout_console, warn_of_damaged
from wirebench.cli.run import SEED_MAX, Work, conclude, measure, place_of
from wirebench.cli.send import sent
from wirebench.files import cannot_write
from wirebench.scenario.model import BLOCKS_MAX
from wirebench.share import Reproduction, hold_against, unpack
from wirebench.share.reproduction import difference, sentence, summary
from wirebench.stats import Comparison
from wirebench.store import Run, find_run, load_run, run_id
from wirebench.store.results import DEFAULT_FOLDER

_BUNDLES_END = ".tar.gz"


def reproduce(  # noqa: PLR0913 - one parameter an option
    file: Annotated[str, typer.Argument(metavar="FILE|RUN", help="A bundle (- is stdin), or a run that is here.")],
    *,
    target: Annotated[str | None, typer.Option(help="Where services run; default: as they did.")] = None,
    blocks: Annotated[int | None, typer.Option(min=1, max=BLOCKS_MAX, help="Default: as many as there were.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=SEED_MAX, help="Default: the same.")] = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    values: ValuesFiles = None,
    rest: Rest = None,
    grpc: Grpc = None,
    socket: Socket = None,
    cacert: CaCert = None,
    cert: Cert = None,
    key: Key = None,
    out: Out = DEFAULT_FOLDER,
    calibrate: Calibrate = True,
    json: Json = False,
) -> None:
    """Run a scenario again, here, and say whether its verdicts hold.

    It is that of a bundle or of a run. The exit code is 1 if a verdict doesn't hold: two verdicts contradict each other
    if both are conclusive and differ.
    """
    with _measured_there(file, out) as there:
        place = place_of(
            target or there.info.target,
            given_addresses(rest, grpc, socket),
            given_tls(cacert, cert, key),
            context=context,
            kubeconfig=kubeconfig,
            values=values or [],
        )
        run_name = run_id(there.info.scenario)
        with planned_again(there, file, place, blocks, seed) as (path, plan), sent(out / run_name, place.access()):
            made = measure(Work(plan, path, place, out, run_name, calibrate=calibrate))
        found = hold_against(there, load_run(made))
    conclude(made, lambda here: _show(here, found, json=json))
    if found.is_contradicted:
        raise typer.Exit(1)


@contextlib.contextmanager
def _measured_there(file: str, out: Path) -> Iterator[Run]:
    """Yield the run of a bundle, unpacked for as long as it takes and checked; or one that is here. Raises UsageError.

    Nothing of a bundle gets into the results.
    """
    if not (file == STDIN or file.endswith(_BUNDLES_END) or Path(file).is_file()):
        yield find_run(file, out, warn_of_damaged)
        return
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        try:
            with opened(file) as stream:
                run, _ = unpack(stream, file, Path(folder))
        except OSError as error:
            raise cannot_write(Path(folder), error) from error
        yield run


def _show(here: Run, found: Reproduction, *, json: bool) -> None:
    if json:
        sys.stdout.write(_as_json(found) + "\n")
        return
    console = stdout_console()
    print_run(here, console)
    console.print(f"\nWhat run {found.there.id} found, and what is found here:", style="bold")
    for each in found.repeated:
        console.print(f"• {sentence(each)}", soft_wrap=True)
    for other in found.differences:
        console.print(f"! not the same: {difference(other)}", style="yellow", soft_wrap=True)
    console.print(summary(found), style="bold", soft_wrap=True)


def _as_json(found: Reproduction) -> str:
    """Return all that is said of a reproduction, as JSON."""
    return orjson.dumps(
        {
            "there": found.there.model_dump(),
            "here": found.here.model_dump(),
            "held": found.count("held"),
            "contradicted": found.count("contradicted"),
            "open": found.count("open"),
            "summary": summary(found),
            "comparisons": [
                {
                    "outcome": each.outcome,
                    "factor": each.there.factor,
                    "subject": each.there.subject.factors,
                    "baseline": each.there.baseline.factors,
                    "metric": each.there.metric.name,
                    "there": _side(each.there),
                    "here": each.here and _side(each.here),
                    "sentence": sentence(each),
                }
                for each in found.repeated
            ],
            "differences": [{"name": each.name, "there": each.base, "here": each.head} for each in found.differences],
        },
        option=orjson.OPT_INDENT_2,
    ).decode()


def _side(comparison: Comparison) -> dict[str, object]:
    return {
        "verdict": comparison.verdict,
        "ratio": comparison.ratios.get(comparison.metric.name),
        "failed_gates": [gate.name for gate in comparison.failed_gates],
    }
