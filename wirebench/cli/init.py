"""`wirebench init`: write a first application file and scenario from a service's schema."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import TlsOptions
from wirebench.drivers.wireload import compile_schema, reflect
from wirebench.errors import UsageError
from wirebench.model.address import parse_address
from wirebench.model.labels import pluralise
from wirebench.model.variant import REFLECTION
from wirebench.plan.drafts.init import (
    Kind,
    Origin,
    Place,
    draft_operations,
    list_kinds,
    render_application,
    render_scenario,
)
from wirebench.plan.drafts.openapi_document import Document
from wirebench.plan.drafts.schema import Schema
from wirebench.system.files import make_write_error, write_atomic
from wirebench.system.tls import ClientTls, split_address


def init(  # noqa: PLR0913 - one parameter an option
    *,
    proto: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A proto file, or a compiled set (.binpb); repeatable.")
    ] = None,
    imports: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="What imports in proto files are relative to; default: their own folders."),
    ] = None,
    openapi: Annotated[Path | None, typer.Option(metavar="FILE", help="An OpenAPI 3 document, YAML or JSON.")] = None,
    reflection: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running gRPC service that serves reflection.")
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Starts the service; write rest=COMMAND and grpc=COMMAND if it has both."),
    ] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="Where the service runs already, with rest= or grpc= as above."),
    ] = None,
    operation: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Take only these, such as 'books.*', and measure also those that write."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder that both files go to.")] = Path(),
    tls_files: TlsOptions,
) -> None:
    """Write an application file and a scenario for your own service.

    wirebench init --proto shop.proto --start 'shop --port {port}'

    wirebench init --openapi shop.yaml --address 127.0.0.1:8080

    wirebench init --reflection 127.0.0.1:50051

    A proto file gives an operation for each call, with its REST request if the call has an HTTP rule (google.api.http).
    An OpenAPI document gives one for each operationId. With both, operations of the same name have both requests.
    Operations that may write are in the application file; the scenario leaves them out unless --operation names them.
    """
    if proto and reflection:
        raise UsageError("--proto and --reflection both describe gRPC", "give one of them")
    if not (proto or openapi or reflection):
        hint = "give --proto FILE, --openapi FILE, or --reflection HOST:PORT of a running service"
        raise UsageError("nothing describes the service", hint)
    tls = tls_files.load()
    origin = _reflect(reflection, tls, openapi) if reflection else _read(proto or [], imports or [], openapi, out)
    drafts = draft_operations(origin, operation or [])
    kinds = list_kinds(drafts.values())
    places = _read_places(start or [], address or [], tls, kinds)
    if reflection and "grpc" in kinds and "grpc" not in places:
        places["grpc"] = Place(address=reflection, tls=tls)
    application, scenario = _choose_paths(out, origin.name, openapi)
    lines = list(render_scenario(origin, application.name, drafts, places, writes=bool(operation)))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(out, error) from error
    for path, text in ((application, render_application(origin, drafts, places)), (scenario, lines)):
        write_atomic(path, "\n".join((*text, "")))
    _print_next_step(application, scenario, len(drafts), [kind for kind in kinds if kind not in places])


def _read(protos: Sequence[Path], imports: Sequence[Path], openapi: Path | None, out: Path) -> Origin:
    """Read files that describe a service. Raises UsageError."""
    schema, grpc = None, {}
    if protos:
        below = imports or list(dict.fromkeys(each.parent for each in protos))
        with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
            schema = Schema(compile_schema(protos, below, Path(folder)))
        grpc = {"schema": _make_relative(protos, out), "imports": _make_relative(below, out)}
    sources = [*protos, *([openapi] if openapi else [])]
    document = Document(openapi) if openapi else None
    return Origin(_make_slug(sources[0].name), " and ".join(each.name for each in sources), schema, document, grpc)


def _reflect(address: str, tls: ClientTls | None, openapi: Path | None) -> Origin:
    """Ask a running service. Raises WirebenchError."""
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        schema = Schema(reflect(address, Path(folder), tls))
    packages = {name.rpartition(".")[0] for name in schema.services}
    name = packages.pop() if len(packages) == 1 else "service"
    document = Document(openapi) if openapi else None
    return Origin(_make_slug(name), f"server reflection of {address}", schema, document, {"schema": REFLECTION})


def _make_relative(paths: Iterable[Path], folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in paths]


def _make_slug(name: str) -> str:
    """Return the name of an application from that of a file or a service."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.partition(".")[0].lower()).strip("-")[:50]
    return slug if slug[:1].isalpha() else f"service-{slug}".rstrip("-")


def _read_places(
    commands: Sequence[str], addresses: Sequence[str], tls: ClientTls | None, kinds: Sequence[Kind]
) -> dict[Kind, Place]:
    """Return how variants are started, and where they run. Raises UsageError."""
    started = dict(_split_kind("--start", each, kinds) for each in commands)
    reached = dict(_split_kind("--address", each, kinds) for each in addresses)
    for command in started.values():
        if "{port}" not in command:
            raise UsageError(
                f"--start {command!r}: it has no {{port}}", "write {port} where the command takes its port"
            )
    for address in reached.values():
        try:
            parse_address(split_address(address)[0])
        except UsageError as error:
            raise UsageError(f"--address {address!r}: {error.message}", error.hint) from None
    return {
        kind: Place(started.get(kind), reached.get(kind), tls) for kind in kinds if kind in started or kind in reached
    }


def _split_kind(flag: str, text: str, kinds: Sequence[Kind]) -> tuple[Kind, str]:
    """Return the variant that a text is for, and the text without it: `rest=…`. Raises UsageError."""
    prefix, mark, rest = text.partition("=")
    for kind in kinds:
        if mark and kind == prefix:
            return kind, rest
    if len(kinds) == 1:
        return kinds[0], text
    shown = " and ".join(f"{flag} '{kind}=…'" for kind in kinds)
    raise UsageError(f"{flag} {text!r}: doesn't name its variant", f"write {shown}")


def _choose_paths(out: Path, name: str, openapi: Path | None) -> tuple[Path, Path]:
    """Return the paths of both files. Raises UsageError if one of them is there."""
    application, scenario = out / f"{name}.yaml", out / f"{name}-scenario.yaml"
    if openapi and application.exists() and application.samefile(openapi):
        application = out / f"{name}-application.yaml"
    for path in (application, scenario):
        if path.exists():
            raise UsageError(f"{path} is there already", "remove it, or choose another folder: --out DIR")
    return application, scenario


def _print_next_step(application: Path, scenario: Path, operations: int, missing: Sequence[Kind]) -> None:
    edit = f"write start or address of {' and '.join(missing)} into {application}; then " if missing else ""
    sys.stderr.write(
        f"{application} has {pluralise(operations, 'operation')}; {scenario} names those that are measured\n"
        f"next: {edit}`wirebench run {scenario}`\n"
    )
