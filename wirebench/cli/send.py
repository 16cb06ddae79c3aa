"""`wirebench send`: send a run to a cluster's results server. Runs on the cluster are sent automatically."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from wirebench.cli.options import KubectlOptions, Out, RunArgument
from wirebench.cli.output import warn_of_damaged
from wirebench.cli.verbosity import note
from wirebench.errors import UsageError, WirebenchError
from wirebench.present.escape import escape_controls
from wirebench.report import write_report
from wirebench.results.runs import DEFAULT_FOLDER, find_run, load_run
from wirebench.system.signals import Interrupted
from wirebench.targets.kubernetes import OUR_CONTEXT, Access, find_access


def send(run: RunArgument, *, kubectl: KubectlOptions, out: Out = DEFAULT_FOLDER) -> None:
    """Send a run to a cluster's results server.

    Runs with --target kubernetes are sent automatically.
    """
    from wirebench.results.bundle.cluster import ResultsServer

    found = find_run(run, out, warn_of_damaged)
    access, _ = find_access(kubectl.context, kubectl.kubeconfig)
    server = ResultsServer.find(access)
    if server is None:
        raise WirebenchError(f"{access} has no results server", "make deploy RESULTS=yes installs one in our cluster")
    server.send(found, write_report)
    sys.stdout.write(f"{found.info.id} is in {server}\n")


@contextlib.contextmanager
def send_when_over(folder: Path, access: Access | None) -> Iterator[None]:
    """Send a run at the end of the `with` block, however it ended, if its cluster has a results server.

    `access` is None without a cluster. A run that could not be resumed isn't sent: this may be another cluster. If
    sending fails, there is a warning.
    """
    is_started = True
    try:
        yield
    except UsageError:
        is_started = False
        raise
    finally:
        if access is not None and is_started and (folder / "run.json").is_file():
            _try_to_send(folder, access)


def _try_to_send(folder: Path, access: Access) -> None:
    from wirebench.results.bundle.cluster import ResultsServer

    again = f"send it by: {_build_command(folder, access)}"
    try:
        server = ResultsServer.find(access)
        run = load_run(folder)
        if server is not None and run.records:
            server.send(run, write_report)
            note(f"sent to {server}")
    except WirebenchError as error:
        sys.stderr.write(
            f"warning: the run isn't in the cluster's results: {escape_controls(error.message)}; {again}\n"
        )
    except Interrupted:
        sys.stderr.write(f"\nthe run isn't in the cluster's results; {again}\n")
        raise


def _build_command(folder: Path, access: Access) -> str:
    ours = access.context == OUR_CONTEXT
    flags = [] if ours or access.context is None else ["--context", access.context]
    flags += [] if ours or access.kubeconfig is None else ["--kubeconfig", str(access.kubeconfig)]
    return shlex.join(["wirebench", "send", str(folder), *flags])
