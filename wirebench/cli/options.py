"""Options that several commands share, in groups: a parameter of a command may be a data class of options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from wirebench.cli.verbosity import set_verbosity
from wirebench.errors import UsageError
from wirebench.model.contract import SEED_MAX, TRANSPORTS
from wirebench.system.paths import DEFAULT_FOLDER, LAST, SCENARIOS
from wirebench.system.tls import ClientTls, make_context

DURATION_S_MIN = 1.0
#: What the deadline of a load pod's Job allows.
DURATION_S_MAX = 1800.0
_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")


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


#: An option of services that run already.
running_option = functools.partial(typer.Option, rich_help_panel="Services that run already")
_cluster_option = functools.partial(typer.Option, rich_help_panel="Cluster")


def make_target_option(what: str, default: str) -> Any:  # noqa: ANN401 - typer's
    """Return the option of where something is done."""
    return typer.Option("--target", metavar="NAME", help=f"{what}; default: {default}.")


def _describe_address(name: str, transport: str) -> str:
    return f"Address of the {name} service; --target external: default WIREBENCH_{transport}."


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses of services that run already."""

    rest: Annotated[str | None, running_option(metavar="URL", help=_describe_address("REST", "REST"))] = None
    grpc: Annotated[str | None, running_option(metavar="ADDR", help=_describe_address("gRPC", "GRPC"))] = None
    socket: Annotated[str | None, running_option(metavar="ADDR", help=_describe_address("socket", "SOCKET"))] = None

    @property
    def by_transport(self) -> dict[str, str]:
        return {name: address for name in TRANSPORTS if (address := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """What a client needs for TLS."""

    cacert: Annotated[
        Path | None, running_option(metavar="FILE", help="Trusted authority for TLS (PEM); default: the system's.")
    ] = None

    def load(self) -> ClientTls | None:
        """Return what was given, if anything was. Raises UsageError if it can't be used."""
        if not self.cacert:
            return None
        tls = ClientTls(self.cacert.resolve())
        make_context(tls)
        return tls


@dataclass(frozen=True, slots=True)
class Cluster:
    """How to reach a cluster, and what to install there."""

    context: Annotated[
        str | None, _cluster_option(metavar="NAME", help="Cluster's context; default: that of `make cluster-up`.")
    ] = None
    kubeconfig: Annotated[
        Path | None, _cluster_option(metavar="FILE", help="The file with that --context; default: where kubectl looks.")
    ] = None
    values: Annotated[
        list[Path] | None,
        _cluster_option(metavar="FILE", help="Values of charts/wirebench: images of your registry, tolerations …"),
    ] = None


@dataclass(frozen=True, slots=True)
class Verbosity:
    """How much is printed besides results."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and results only.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print each program that is started, and its log.")
    ] = False

    def apply(self) -> None:
        """Set it from now on. Raises UsageError for both."""
        set_verbosity(quiet=self.quiet, verbose=self.verbose)


def complete_scenarios(incomplete: str) -> list[str]:
    return [name for name in list_scenario_files() if name.startswith(incomplete)]


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the runs that begin so, in the folder that --out names."""
    folders = Path(context.params.get("out") or DEFAULT_FOLDER).glob("*/run.json")
    return [name for name in (LAST, *sorted(path.parent.name for path in folders)) if name.startswith(incomplete)]


def list_scenario_files() -> dict[str, Path]:
    return {path.stem: path for path in (*sorted(SCENARIOS.glob("*.yaml")), *sorted(SCENARIOS.glob("examples/*.yaml")))}


def make_run_argument(what: str, metavar: str = "RUN") -> Any:  # noqa: ANN401 - typer's
    """Return the argument that names a run."""
    names = "its name or how that begins, its folder, `last`, or `last~1` for the run before"
    return typer.Argument(metavar=metavar, help=f"{what}: {names}.", autocompletion=complete_runs)


RunArgument = Annotated[str, make_run_argument("The run")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=SEED_MAX, help="Repeats an order of cells; default: random.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ApplicationFile = Annotated[
    Path | None,
    typer.Option("--application", metavar="FILE", help="Application file of the run's variants; default: as it was."),
]
Prometheus = Annotated[
    str | None,
    typer.Option(
        "--prometheus", metavar="URL", help="Prometheus that gets live metrics of the load; in a cluster, its own does."
    ),
]
Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate/--no-calibrate",
        envvar="WIREBENCH_CALIBRATE",
        help="Look up the drivers' error, and measure it first where it is unknown: 20 s at most; a resumed run keeps "
        "its choice.",
    ),
]


def read_environment_address(transport: str) -> str | None:
    """Return the address that an environment variable gives for a transport, such as WIREBENCH_REST."""
    return os.environ.get(f"WIREBENCH_{transport.upper()}") or None


def check_folder(out: Path) -> Path:
    """Return the folder of the runs, if it is there. Raises UsageError."""
    if not out.is_dir():
        raise UsageError(
            f"--out {out}: no such folder", "name the folder that the runs are in; `wirebench run` makes results/"
        )
    return out


def parse_duration_s(text: str) -> float:
    """Return how long `30s`, `1m30s`, `5m` or plain seconds are, in seconds. Raises UsageError."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1] or 0) * 60 + float(found[2] or 0) if found else math.nan
    if not DURATION_S_MIN <= seconds <= DURATION_S_MAX:
        raise UsageError(
            f"the duration {text!r} isn't between {DURATION_S_MIN:.0f} s and {DURATION_S_MAX / 60:.0f} min",
            "write it like 30s, 1m30s or 5m",
        )
    return seconds
