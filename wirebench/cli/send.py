"""`wirebench send`: a run for the server of results of a cluster, as runs on it are sent by themselves."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import OUR_CONTEXT, Context, Kubeconfig, Out, cluster_access
from wirebench.cli.output import visible, warn_of_damaged
from wirebench.errors import UsageError, WirebenchError
from wirebench.interrupts import Interrupted
from wirebench.store import find_run, load_run
from wirebench.store.results import DEFAULT_FOLDER
from wirebench.targets.kubernetes import Access


def send(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, its folder, or `last`.")],
    *,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Send a run to a cluster's server of results.

    Runs with --target kubernetes are sent by themselves.
    """
    # Imported late: the report brings matplotlib with it.
    from wirebench.share.cluster import ResultsServer  # noqa: PLC0415

    found = find_run(run, out, warn_of_damaged)
    access, _ = cluster_access(context, kubeconfig, [])
    server = ResultsServer.find(access)
    if server is None:
        raise WirebenchError(f"{access} has no server of results", "make deploy RESULTS=yes puts one into our cluster")
    server.send(found)
    sys.stdout.write(f"{found.info.id} is in {server}\n")


@contextlib.contextmanager
def sent(folder: Path, access: Access | None) -> Iterator[None]:
    """Send a run when it is over, however it has ended, if its cluster has a server of results; None is no cluster.

    One that may not go on there isn't sent: its cluster may be another. Where sending fails there is a warning: the run
    is what it is.
    """
    is_refused = False
    try:
        yield
    except UsageError:  # nothing was started
        is_refused = True
        raise
    finally:
        if access is not None and not is_refused and (folder / "run.json").is_file():
            _try_to_send(folder, access)


def _try_to_send(folder: Path, access: Access) -> None:
    from wirebench.share.cluster import ResultsServer  # noqa: PLC0415

    again = f"send it by: {_command(folder, access)}"
    try:
        server = ResultsServer.find(access)
        run = load_run(folder)
        if server is not None and run.records:
            server.send(run)
            sys.stderr.write(f"sent to {server}\n")
    except WirebenchError as error:
        sys.stderr.write(f"warning: the run isn't in the cluster's results: {visible(error.message)}; {again}\n")
    except Interrupted:
        sys.stderr.write(f"\nthe run isn't in the cluster's results; {again}\n")
        raise


def _command(folder: Path, access: Access) -> str:
    """Return the command line that sends the run again."""
    ours = access.context == OUR_CONTEXT
    flags = [] if ours or access.context is None else ["--context", access.context]
    flags += [] if ours or access.kubeconfig is None else ["--kubeconfig", str(access.kubeconfig)]
    return shlex.join(["wirebench", "send", str(folder), *flags])
