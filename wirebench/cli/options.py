"""Options that several commands share, in groups: a parameter of a command may be a data class of options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from wirebench.cli.log import LOG
from wirebench.errors import UsageError
from wirebench.model.contract import SEED_MAX, TRANSPORTS, TargetName
from wirebench.system.paths import DEFAULT_FOLDER, LAST, list_scenarios
from wirebench.system.tls import ClientTls, make_context


def expand_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with an option for each field of its parameters that are data classes, as typer needs it."""
    parameters, groups = [], {}
    for each in inspect.signature(command, eval_str=True).parameters.values():
        kind = each.annotation
        if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
            parameters.append(each)
            continue
        groups[each.name] = kind
        hints = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(field.name, each.kind, default=field.default, annotation=hints[field.name])
            for field in dataclasses.fields(kind)
        ]

    @functools.wraps(command)
    def run(**given: Any) -> Any:  # noqa: ANN401 - whatever the command takes
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


_running_option = functools.partial(typer.Option, rich_help_panel="Services that run already")
_cluster_option = functools.partial(typer.Option, rich_help_panel="Cluster")


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """What a client needs for TLS."""

    cacert: Annotated[
        Path | None, _running_option(metavar="FILE", help="Authority for TLS (PEM); default: the system's.")
    ] = None

    def load(self) -> ClientTls | None:
        """Return what was given, if anything was. Raises UsageError if it can't be used."""
        if not self.cacert:
            return None
        tls = ClientTls(self.cacert.resolve())
        make_context(tls)
        return tls


@dataclass(frozen=True, slots=True)
class Services(TlsOptions):
    """Services that run already: their addresses, or without a scenario requests on them."""

    rest: Annotated[
        list[str] | None, _running_option(metavar="URL", help="REST service; without a scenario: a request on it.")
    ] = None
    grpc: Annotated[
        list[str] | None, _running_option(metavar="ADDR", help="gRPC service; without a scenario: a call to it.")
    ] = None
    socket: Annotated[
        list[str] | None, _running_option(metavar="ADDR", help="Socket service; without a scenario: a line for it.")
    ] = None

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses by transport. Raises UsageError for several of one."""
        named = {transport: given for transport in TRANSPORTS if (given := getattr(self, transport))}
        for transport, given in named.items():
            if len(given) > 1:
                raise UsageError(f"--{transport}: a scenario takes one address of each transport", "remove the others")
        return {transport: given[0] for transport, given in named.items()}


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """What requests have that stand in place of a scenario."""

    status: Annotated[
        int | None, _running_option(metavar="N", min=100, max=599, help="Expected of --rest requests; default: 200.")
    ] = None
    header: Annotated[
        list[str] | None, _running_option(metavar="'NAME: VALUE'", help="Of --rest requests; may have ${VARIABLE}.")
    ] = None
    metadata: Annotated[
        list[str] | None, _running_option(metavar="'NAME: VALUE'", help="Of --grpc calls; may have ${VARIABLE}.")
    ] = None
    ignore_bodies: Annotated[
        bool, _running_option("--ignore-bodies", help="Replies to requests needn't have equal bodies.")
    ] = False

    @property
    def headers(self) -> dict[str, dict[str, str]]:
        """Headers by transport. Raises UsageError, without the text: it may be a secret."""
        given = {"rest": self.header or (), "grpc": self.metadata or ()}
        if not all(":" in text for texts in given.values() for text in texts):
            raise UsageError("--header, --metadata: not a name and a value", "write 'NAME: VALUE'")
        pairs = {transport: [text.partition(":")[::2] for text in texts] for transport, texts in given.items() if texts}
        return {transport: {name.strip(): value.strip() for name, value in each} for transport, each in pairs.items()}


@dataclass(frozen=True, slots=True)
class Cluster:
    """How to reach a cluster, and what to install there."""

    context: Annotated[
        str | None, _cluster_option(metavar="NAME", help="Context; default: that of `make cluster-up`.")
    ] = None
    values: Annotated[
        list[Path] | None, _cluster_option(metavar="FILE", help="Values of charts/wirebench: images, tolerations …")
    ] = None


@dataclass(frozen=True, slots=True)
class Verbosity:
    """How much is printed besides results."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and results only.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print each program that is started.")] = False

    def apply(self) -> None:
        """Set it from now on. Raises UsageError for both."""
        if self.quiet and self.verbose:
            raise UsageError("--quiet and --verbose: they exclude each other", "remove one of them")
        LOG.setLevel(logging.WARNING if self.quiet else logging.DEBUG if self.verbose else logging.INFO)


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the runs that begin so, in the folder that --out names."""
    folders = Path(context.params.get("out") or DEFAULT_FOLDER).glob("*/run.json")
    return [name for name in (LAST, *sorted(path.parent.name for path in folders)) if name.startswith(incomplete)]


def complete_scenarios(incomplete: str) -> list[str]:
    return [name for name in list_scenarios() if name.startswith(incomplete)]


def make_run_argument(what: str, metavar: str = "RUN") -> Any:  # noqa: ANN401 - typer's
    """Return the argument that names a run."""
    help_text = f"{what}: its name or how that begins, `last` or `last~1`."
    return typer.Argument(metavar=metavar, help=help_text, autocompletion=complete_runs)


def _parse_folder(text: str) -> Path:
    if not text:
        raise typer.BadParameter("must be a folder, and is empty")
    return Path(text)


RunArgument = Annotated[str, make_run_argument("A run")]
Target = Annotated[TargetName | None, typer.Option(metavar="NAME", help="local, kubernetes or external.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", parser=_parse_folder, help="Folder of the runs.")]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, max=SEED_MAX, help="Repeats an order of cells.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Prometheus = Annotated[str | None, typer.Option(metavar="URL", help="Prometheus that gets live metrics.")]
Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--no-calibrate",
        envvar="WIREBENCH_CALIBRATE",
        show_envvar=False,
        help="Measure unknown driver errors: 75 s at most.",
    ),
]
