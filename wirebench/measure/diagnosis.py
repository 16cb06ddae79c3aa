"""Why not one request of a load succeeded: the tools' own words for it are few, and each has others."""

from __future__ import annotations

from wirebench.clients import connect
from wirebench.drivers import HistogramFile, Job
from wirebench.drivers.histogram_file import OK
from wirebench.errors import WirebenchError
from wirebench.model.application import builtin


def explained(file: HistogramFile, job: Job) -> HistogramFile:
    """Return what a driver measured; if all failed, its first error with what a client of ours says of the service."""
    if OK in file.requests_total or not file.errors:
        return file
    why = _ask(job)
    if not why:
        return file
    first, *others = file.errors
    told = first.model_copy(update={"message": f"{first.message} ({why})"})
    return file.model_copy(update={"errors": (told, *others)})


def _ask(job: Job) -> str:
    cell, address = job.cell, (*job.replicas, job.address)[0]
    try:
        with connect(cell.transport, address, codec=cell.codec, tls=job.tls) as client:
            client.call("users.get", {"id": builtin().seeded["users"].first})
    except WirebenchError as error:
        return f"{error.message}: {error.hint}"
    return ""
