"""`wirebench run`: measure a scenario."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from wirebench import runner
from wirebench.cli.external import as_found
from wirebench.cli.options import (
    CaCert,
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
    cluster_access,
    given_addresses,
    given_tls,
    scenario_path,
)
from wirebench.cli.output import TerminalProgress, print_run, stdout_console
from wirebench.cli.results import as_json
from wirebench.errors import UsageError, WirebenchError
from wirebench.interrupts import STOPPING, Interrupted, interruptible
from wirebench.progress import TimeLeft
from wirebench.scenario import Plan, make_plan, read_scenario
from wirebench.scenario.contract import TargetName
from wirebench.scenario.model import BLOCKS_MAX
from wirebench.stats.names import counted
from wirebench.store import Run, RunWriter, load_run, run_id
from wirebench.store.results import DEFAULT_FOLDER, TIMING_FILE
from wirebench.targets import ExternalTarget, LocalTarget, Target, divide_cores
from wirebench.targets.kubernetes import KubernetesTarget

SEED_MAX = 2**31 - 1 - BLOCKS_MAX  # each block adds its number


def run(  # noqa: PLR0913 - one parameter an option
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of one in scenarios/.")],
    *,
    target: Annotated[str, typer.Option(help="Where services run: local, kubernetes or external.")] = "local",
    blocks: Annotated[
        int | None, typer.Option(min=1, max=BLOCKS_MAX, help="Repetitions; default: the scenario's.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEED_MAX, help="Repeats an order of cells; default: random.")
    ] = None,
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
    json: Json = False,
) -> None:
    """Measure a scenario, and say what the numbers support."""
    path = scenario_path(scenario)
    read = read_scenario(path)
    if blocks is not None:
        read = read.model_copy(update={"blocks": blocks})
    kind = _checked_target(target, addresses := given_addresses(rest, grpc, socket))
    tls = given_tls(cacert, cert, key)
    if tls and kind != "external":
        raise UsageError("--cacert, --cert and --key: other targets make their own", "add --target external")
    external = ExternalTarget(addresses, tls)
    if kind == "external":
        read = as_found(read, external)
    if kind != "kubernetes" and (context or kubeconfig or values):
        raise UsageError("--context, --kubeconfig and --values are for clusters", "add --target kubernetes")
    plan = make_plan(read, random.SystemRandom().randrange(SEED_MAX) if seed is None else seed, kind)
    run_name = run_id(path.stem)
    with interruptible(STOPPING):
        chosen: Target
        match kind:
            case "local":
                chosen = LocalTarget(divide_cores(), lambda service: out / run_name / "logs" / f"{service}.log")
            case "external":
                chosen = external
            case "kubernetes":
                chosen = KubernetesTarget(run_name, *cluster_access(context, kubeconfig, values or []))
        writer = _begin(plan, path, chosen, out, run_name)
        try:
            _announce(plan, chosen, writer)
            with TerminalProgress(plan.cells_total, TimeLeft.of(plan, kind)) as progress:
                runner.execute(plan, chosen, writer, progress)
        except Interrupted:
            _say_what_is_left(writer)
            raise
    _conclude(writer.folder, json=json)


def _begin(plan: Plan, path: Path, target: Target, out: Path, run_name: str) -> RunWriter:
    """Prepare the target and the run's folder; where that fails, nothing of the target's stays."""
    timing = plan.scenario.load.timing
    try:
        runner.prepare(plan, target)
        writer = RunWriter(out, runner.start_info(plan, path, target, run_name))
        if timing is not None:
            writer.keep(path.parent / timing, TIMING_FILE)
    except BaseException:
        target.clean_up()
        raise
    return writer


def _say_what_is_left(writer: RunWriter) -> None:
    if writer.folder.exists() and not writer.is_worth_keeping(logs_count=False):
        writer.discard()  # the interrupt came before the run had begun
    if writer.folder.exists():
        again = f"`wirebench results --run {writer.folder}` shows it"
        sys.stderr.write(f"what was measured is in {writer.folder}/; {again}\n")
    else:
        sys.stderr.write("nothing had been measured, and nothing is left\n")


def _conclude(folder: Path, *, json: bool) -> None:
    """Show the figures, and then write the report: whatever becomes of it, they have been seen."""
    # Imported late: the report brings matplotlib with it.
    from wirebench.report import write_report  # noqa: PLC0415

    again = f"write the report by: wirebench report --run {folder}"
    try:
        result = load_run(folder)
        unprinted = _show(result, json=json)
        report = write_report(result)
    except WirebenchError as error:
        raise WirebenchError(error.message, f"{error.hint}; then {again}") from error
    except Interrupted:
        sys.stderr.write(f"\nall records are on disk; {again}\n")
        raise
    sys.stderr.write(f"\nReport: {report}\n")
    if unprinted:
        raise WirebenchError(f"can't print the figures: {unprinted}", f"`wirebench results --run {folder}` shows them")


def _show(result: Run, *, json: bool) -> str:
    """Print the figures; return why they can't be, if they can't."""
    try:
        if json:
            sys.stdout.write(as_json(result) + "\n")
        else:
            print_run(result, stdout_console())
        sys.stdout.flush()
    except OSError as error:  # a closed pipe, a full disk
        # What is still in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error.strerror or str(error)
    return ""


def _checked_target(name: str, addresses: Mapping[str, str]) -> TargetName:
    if name not in get_args(TargetName):
        raise UsageError(f"--target: no target {name!r}", "local, kubernetes or external")
    if name == "external" and not addresses:
        raise UsageError("--target external: no address is given", "add --rest URL, --grpc ADDR, --socket ADDR")
    if name != "external" and addresses:
        flags = ", ".join(f"--{transport}" for transport in addresses)
        raise UsageError(f"{flags}: the {name} target starts its services itself", "add --target external")
    return cast("TargetName", name)


def _announce(plan: Plan, target: Target, writer: RunWriter) -> None:
    cells, blocks = len(plan.cells), len(plan.blocks)
    at_most = "at most " if plan.scenario.load.model == "calls" else ""
    lines = [
        f"{plan.scenario.question}",
        f"{counted(cells, 'cell')} × {counted(blocks, 'block')}, {at_most}{plan.measured_s:.0f} s of load; "
        f"seed {plan.seed}; {target.name} target" + (f" ({target.cores})" if target.cores else ""),
        f"results: {writer.folder}/",
        *(f"note: {note}" for note in writer.info.notes),
    ]
    sys.stderr.write("\n".join(lines) + "\n")
