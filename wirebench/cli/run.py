"""`wirebench run`: measure a scenario."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from wirebench import resumption, runner
from wirebench.cli import stdout
from wirebench.cli.external import as_found
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
    Serve,
    ServePort,
    Socket,
    ValuesFiles,
    cluster_access,
    environment_address,
    given_addresses,
    given_tls,
    scenario_path,
)
from wirebench.cli.output import TerminalProgress, print_run, stdout_console, visible, warn_of_index
from wirebench.cli.results import as_json
from wirebench.cli.send import sent
from wirebench.cli.serving import NOTE, Served, checked_port, served
from wirebench.errors import UsageError, WirebenchError
from wirebench.interrupts import STOPPING, Interrupted, interruptible
from wirebench.progress import TimeLeft
from wirebench.scenario import Plan, Scenario, make_plan, read_scenario
from wirebench.scenario.contract import TRANSPORTS, Driver, TargetName
from wirebench.scenario.model import BLOCKS_MAX
from wirebench.stats.names import counted
from wirebench.store import Run, RunFollower, RunWriter, load_run, run_id
from wirebench.store.results import DEFAULT_FOLDER, TIMING_FILE
from wirebench.targets import ExternalTarget, LocalTarget, Target, divide_cores
from wirebench.targets.kubernetes import Access, KubernetesTarget
from wirebench.tls import ClientTls

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
    driver: Annotated[
        Driver | None, typer.Option(help="Drives all cells, without cross-checks; default: the scenario's.")
    ] = None,
    timing: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Timing file of a replay, in place of the scenario's.")
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
    serve: Serve = False,
    serve_port: ServePort = None,
    out: Out = DEFAULT_FOLDER,
    calibrate: Calibrate = True,
    json: Json = False,
) -> None:
    """Measure a scenario, and say what the numbers support."""
    page_port = checked_port(serve_port, serve=serve)
    place = place_of(
        target,
        given_addresses(rest, grpc, socket),
        given_tls(cacert, cert, key),
        context=context,
        kubeconfig=kubeconfig,
        values=values or [],
    )
    path = scenario_path(scenario)
    read = read_scenario(path, timing)
    if timing and read.load.model != "replay":
        raise UsageError(f"--timing: {path} has no replay", "remove the option, or set load.model to replay")
    plan = planned(read, place, blocks, seed, driver)
    measure_and_show(Work(plan, path, place, out, run_id(path.stem), calibrate=calibrate), page_port, json=json)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scenario is to be measured, as the options say."""

    kind: TargetName
    external: ExternalTarget
    context: str | None
    kubeconfig: Path | None
    values: list[Path]

    def target(self, run_name: str, out: Path) -> Target:
        """Return the target of a run. Raises UsageError."""
        match self.kind:
            case "local":
                return LocalTarget(divide_cores(), lambda service: out / run_name / "logs" / f"{service}.log")
            case "external":
                return self.external
            case "kubernetes":
                return KubernetesTarget(run_name, *cluster_access(self.context, self.kubeconfig, self.values))

    def access(self) -> Access | None:
        """Return who may enter the cluster that it is, if it is one. Raises UsageError."""
        if self.kind != "kubernetes":
            return None
        return cluster_access(self.context, self.kubeconfig, self.values)[0]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be measured: the plan of the scenario in a file, where, and into which folder of `out`.

    `found` is the run that goes on, as it is there, if one does.
    """

    plan: Plan
    path: Path
    place: Place
    out: Path
    run_name: str
    found: Run | None = None
    calibrate: bool = True


def place_of(  # noqa: PLR0913 - what the options say
    target: str,
    addresses: Mapping[str, str],
    tls: ClientTls | None,
    *,
    context: str | None,
    kubeconfig: Path | None,
    values: list[Path],
) -> Place:
    """Return the place that options name, and for an external target environment variables where there is no option.

    Raises UsageError if they don't go together.
    """
    kind = _checked_target(target, addresses)
    if kind == "external":
        found = {each: addresses.get(each) or environment_address(each) for each in TRANSPORTS}
        addresses = {transport: address for transport, address in found.items() if address}
        if not addresses:
            hint = "add --rest URL, --grpc ADDR, --socket ADDR, or set WIREBENCH_REST, WIREBENCH_GRPC, WIREBENCH_SOCKET"
            raise UsageError("--target external: no address is given", hint)
    if tls and kind != "external":
        raise UsageError("--cacert, --cert and --key: other targets make their own", "add --target external")
    if kind != "kubernetes" and (context or kubeconfig or values):
        raise UsageError("--context, --kubeconfig and --values are for clusters", "add --target kubernetes")
    return Place(kind, ExternalTarget(addresses, tls), context, kubeconfig, values)


def planned(
    scenario: Scenario, place: Place, blocks: int | None, seed: int | None, driver: Driver | None = None
) -> Plan:
    """Return the plan of a scenario, with its own number of blocks and drivers and a random seed if none is given.

    Raises UsageError.
    """
    read = scenario if blocks is None else scenario.model_copy(update={"blocks": blocks})
    if driver:
        for transport in read.factors.transport:
            if driver not in TRANSPORTS[transport].drivers:
                hint = f"choose from {', '.join(TRANSPORTS[transport].drivers)}"
                raise UsageError(f"--driver {driver}: {transport} has no such driver", hint)
        read = read.driven_by(driver)
    if place.kind == "external":
        read = as_found(read, place.external)
    return make_plan(read, random.SystemRandom().randrange(SEED_MAX) if seed is None else seed, place.kind)


def measure_and_show(work: Work, page_port: int | None, *, json: bool) -> None:
    """Measure, and show the figures; on a port, if one is given, the run's page is served meanwhile.

    Raises UsageError, WirebenchError, Interrupted.
    """
    with served(work.out, page_port, work.run_name) if page_port is not None else nullcontext() as page:
        with sent(work.out / work.run_name, work.place.access()):
            folder = measure(work, page=page)
            conclude(folder, lambda result: show(result, json=json))
        if page:
            page.stay()


def measure(work: Work, *, page: Served | None = None) -> Path:
    """Measure, and return the run's folder; its report isn't written yet.

    `page` is where it is served meanwhile, if it is.

    Raises UsageError, WirebenchError, Interrupted.
    """
    plan = work.plan
    with interruptible(STOPPING), _index(work.out) as index:
        target = work.place.target(work.run_name, work.out)
        writer = _begin(work, target, index)
        before = resumption.spent(work.found, plan.scenario.load) if work.found else None
        try:
            _announce(plan, target, writer, page)
            with TerminalProgress(plan, TimeLeft.of(plan, target.name)) as progress:
                runner.execute(plan, target, writer, progress, before, calibrate=work.calibrate)
        except (WirebenchError, Interrupted) as error:
            _say_what_is_left(writer, is_asked_for=isinstance(error, Interrupted))
            raise
    return writer.folder


def _index(out: Path) -> AbstractContextManager[RunFollower]:
    """Return what puts the run into the index as it goes."""
    # Imported late: SQLAlchemy takes longer to load than a short command to run.
    from wirebench.index import IndexFollower, database_url  # noqa: PLC0415

    return IndexFollower(database_url(out), out, warn_of_index)


def _begin(work: Work, target: Target, index: RunFollower) -> RunWriter:
    """Prepare the target and the run's folder; where that fails, nothing of the target's stays."""
    try:
        runner.prepare(work.plan, target)
        info = runner.start_info(work.plan, work.path, target, work.run_name)
        if work.found:
            return RunWriter(work.out, resumption.going_on(work.found, info), index, found=work.found)
        writer = RunWriter(work.out, info, index)
        if timing := work.plan.scenario.load.timing_path:
            writer.keep(timing, TIMING_FILE)
    except BaseException:
        target.clean_up()
        raise
    return writer


def _say_what_is_left(writer: RunWriter, *, is_asked_for: bool) -> None:
    """Say where the records are, and how to go on; where there are none, only whoever interrupted it is told so."""
    if is_asked_for and writer.folder.exists() and not writer.is_worth_keeping(logs_count=False):
        writer.discard()  # the interrupt came before the run had begun
    if writer.has_records() or (is_asked_for and writer.folder.exists()):
        rest = f", and `wirebench resume {writer.folder}` measures the rest" * (writer.info.status != "complete")
        shown = f"`wirebench results --run {writer.folder}` shows it"
        sys.stderr.write(f"what was measured is in {writer.folder}/: {shown}{rest}\n")
    elif is_asked_for:
        sys.stderr.write("nothing had been measured, and nothing is left\n")


def conclude(folder: Path, show_figures: Callable[[Run], None]) -> None:
    """Show the figures, and then write the report: whatever becomes of it, they have been seen.

    Raises WirebenchError, Interrupted.
    """
    # Imported late: the report brings matplotlib with it.
    from wirebench.report import write_report  # noqa: PLC0415

    again = f"write the report by: wirebench report --run {folder}"
    try:
        result = load_run(folder)
        unprinted = _printed(result, show_figures)
        report = write_report(result)
    except WirebenchError as error:
        raise WirebenchError(error.message, f"{error.hint}; then {again}") from error
    except Interrupted:
        sys.stderr.write(f"\nall records are on disk; {again}\n")
        raise
    sys.stderr.write(f"\nReport: {report}\n")
    if unprinted:
        raise WirebenchError(f"can't print the figures: {unprinted}", f"`wirebench results --run {folder}` shows them")


def show(result: Run, *, json: bool) -> None:
    """Print a run's figures."""
    if json:
        sys.stdout.write(as_json(result) + "\n")
    else:
        print_run(result, stdout_console())


def _printed(result: Run, show_figures: Callable[[Run], None]) -> str:
    """Print the figures; return why they can't be, if they can't."""
    try:
        show_figures(result)
        sys.stdout.flush()
    except OSError as error:  # a closed pipe, a full disk
        stdout.drop()
        return error.strerror or str(error)
    return ""


def _checked_target(name: str, addresses: Mapping[str, str]) -> TargetName:
    if name not in get_args(TargetName):
        raise UsageError(f"--target: no target {name!r}", "local, kubernetes or external")
    if name != "external" and addresses:
        flags = ", ".join(f"--{transport}" for transport in addresses)
        raise UsageError(f"{flags}: the {name} target starts its services itself", "add --target external")
    return cast("TargetName", name)


def _announce(plan: Plan, target: Target, writer: RunWriter, page: Served | None) -> None:
    if page:
        writer.note(NOTE)
    cells, blocks = len(plan.cells), len(plan.blocks)
    done = f", {len(plan.done)} of {counted(plan.cells_total, 'window')} done before" if plan.done else ""
    at_most = "at most " if plan.scenario.load.model == "calls" else ""
    lines = [
        visible(plan.scenario.question),
        f"{counted(cells, 'cell')} × {counted(blocks, 'block')}{done}, {at_most}{plan.measured_s:.0f} s of load; "
        f"seed {plan.seed}; {target.name} target" + (f" ({target.cores})" if target.cores else ""),
        f"results: {writer.folder}/",
        *(f"note: {note}" for note in writer.info.notes),
    ]
    sys.stderr.write("\n".join(lines) + "\n")
    if page:
        page.open()
