"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.serving import PORT
from wirebench.clients.secure import context_of
from wirebench.errors import UsageError
from wirebench.places import IMAGES, KUBECONFIG, SCENARIOS
from wirebench.targets.kubernetes import Access
from wirebench.tls import ClientTls

#: The context of `make cluster-up`.
OUR_CONTEXT = "kind-wirebench"

Rest = Annotated[
    str | None,
    typer.Option(
        "--rest", metavar="URL", help="Address of the REST service; --target external: default WIREBENCH_REST."
    ),
]
Grpc = Annotated[
    str | None,
    typer.Option(
        "--grpc", metavar="ADDR", help="Address of the gRPC service; --target external: default WIREBENCH_GRPC."
    ),
]
Socket = Annotated[
    str | None,
    typer.Option(
        "--socket", metavar="ADDR", help="Address of the socket service; --target external: default WIREBENCH_SOCKET."
    ),
]
CaCert = Annotated[
    Path | None,
    typer.Option("--cacert", metavar="FILE", help="Authority to trust for TLS (PEM); default: the system's."),
]
Cert = Annotated[
    Path | None,
    typer.Option("--cert", metavar="FILE", help="Certificate (PEM) to show where a service asks for one: mutual TLS."),
]
Key = Annotated[Path | None, typer.Option("--key", metavar="FILE", help="The certificate's key (PEM).")]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Cluster's context; default: that of `make cluster-up`.")
]
Kubeconfig = Annotated[
    Path | None,
    typer.Option("--kubeconfig", metavar="FILE", help="Where the context is; default: where kubectl looks."),
]
ValuesFiles = Annotated[
    list[Path] | None,
    typer.Option("--values", metavar="FILE", help="Values of charts/wirebench: images of your registry, tolerations …"),
]
Serve = Annotated[bool, typer.Option("--serve", help="Serve the run's page while it goes, and open it.")]
ServePort = Annotated[
    int | None,
    typer.Option(min=0, max=65_535, help=f"Port of that page; default: {PORT}; 0 takes a free one."),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate/--no-calibrate",
        envvar="WIREBENCH_CALIBRATE",
        help="Look up the drivers' own error, and measure it first where it isn't known: 20 s at most.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunName = Annotated[str, typer.Option("--run", metavar="RUN", help="A run's name, its folder, or `last`.")]
#: What a file is called that is to go there.
STDOUT = Path("-")
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the runs.")]


def help_without_command(context: typer.Context) -> None:
    """Show the help where there should be a command; nothing was done, so the exit status is that of wrong usage."""
    if context.invoked_subcommand is None:
        sys.stderr.write(f"{context.get_help()}\n")
        raise typer.Exit(UsageError.exit_status)


def given_addresses(rest: str | None, grpc: str | None, socket: str | None) -> dict[str, str]:
    """Return the addresses that were given, by transport."""
    addresses = {"rest": rest, "grpc": grpc, "socket": socket}
    return {transport: address for transport, address in addresses.items() if address}


def environment_address(transport: str) -> str | None:
    """Return the address that an environment variable gives for a transport, such as WIREBENCH_REST."""
    return os.environ.get(f"WIREBENCH_{transport.upper()}") or None


def given_tls(cacert: Path | None, cert: Path | None, key: Path | None) -> ClientTls | None:
    """Return what was given for TLS, if anything was. Raises UsageError if it can't be used."""
    if not (cacert or cert or key):
        return None
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key go together", "give both, or none of them")
    tls = ClientTls(*(path and path.resolve() for path in (cacert, cert, key)))
    context_of(tls)
    if tls.certificate:
        from wirebench.targets.certificates import check_dates  # noqa: PLC0415 - few commands need it

        check_dates(tls.certificate)
    return tls


def existing(out: Path) -> Path:
    """Return the folder of the runs, if it is there. Raises UsageError."""
    if not out.is_dir():
        raise UsageError(
            f"--out {out}: no such folder", "name the folder that the runs are in; `make bench` makes results/"
        )
    return out


def scenario_path(name: str) -> Path:
    """Return the scenario file of a path, or of the name of one that comes with wirebench. Raises UsageError."""
    for path in (Path(name), SCENARIOS / name, SCENARIOS / f"{name}.yaml"):
        if path.is_file():
            return path
    raise UsageError(f"no scenario {name!r}", "`wirebench list` shows the scenarios that come with wirebench")


def cluster_access(context: str | None, kubeconfig: Path | None, values: list[Path]) -> tuple[Access, list[Path]]:
    """Return who may enter which cluster, and the values that name its images: ours, unless another one is named.

    Never a context that happens to be the current one: a load is nothing to send to a cluster by mistake. Raises
    UsageError.
    """
    for path in filter(None, (kubeconfig, *values)):
        if not path.is_file():
            raise UsageError(f"{path}: no such file", "correct the path")
    if context is None and kubeconfig is not None:
        raise UsageError("--kubeconfig: no context is named", "add --context NAME")
    if context not in (None, OUR_CONTEXT) or kubeconfig is not None:
        return Access(context, kubeconfig), values
    if not (KUBECONFIG.is_file() and IMAGES.is_file()):
        raise UsageError("no cluster of ours is there", "make cluster-up makes one; --context NAME takes another")
    return Access(OUR_CONTEXT, KUBECONFIG), [IMAGES, *values]
