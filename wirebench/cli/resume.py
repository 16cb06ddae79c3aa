"""`wirebench resume`: measure what an incomplete run has left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.again import planned_again
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
    given_addresses,
    given_tls,
)
from wirebench.cli.output import warn_of_damaged
from wirebench.cli.run import Work, measure_and_show, place_of
from wirebench.cli.serving import checked_port
from wirebench.errors import UsageError, WirebenchError
from wirebench.resumption import refuse_finished, rest_of
from wirebench.store import Run, find_run
from wirebench.store.results import DEFAULT_FOLDER, LAST


def resume(  # noqa: PLR0913 - one parameter an option
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run's name, its folder, or `last`.")] = LAST,
    *,
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
    """Go on with a run that was stopped: measure what it has left.

    It takes the machine, the versions and the target that it was begun with. Its records stay as they are. Options say
    how to reach its target again.
    """
    page_port = checked_port(serve_port, serve=serve)
    found = _found(run, out)
    refuse_finished(found)
    place = place_of(
        found.info.target,
        given_addresses(rest, grpc, socket),
        given_tls(cacert, cert, key),
        context=context,
        kubeconfig=kubeconfig,
        values=values or [],
    )
    with planned_again(found, f"run {found.info.id}", place) as (path, plan):
        work = Work(rest_of(plan, found), path, place, found.folder.parent, found.info.id, found, calibrate=calibrate)
        measure_and_show(work, page_port, json=json)


def _found(name: str, out: Path) -> Run:
    """Read the run of that name. Raises UsageError for one that can't be read, as well."""
    try:
        return find_run(name, out, warn_of_damaged)
    except UsageError:
        raise
    except WirebenchError as error:
        hint = "it was written by another version, or damaged: `wirebench run` measures its scenario anew"
        raise UsageError(error.message, hint) from None
