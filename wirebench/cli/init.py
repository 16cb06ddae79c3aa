"""`wirebench init`: list what a service's schema has, and draft files for the operations that are named."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wirebench.cli.options import TlsOptions
from wirebench.drivers.wireload import compile_schema, reflect
from wirebench.errors import UsageError
from wirebench.model.address import parse_address
from wirebench.model.labels import pluralise
from wirebench.model.variant import REFLECTION
from wirebench.plan.drafts.draft import Draft
from wirebench.plan.drafts.files import Drafts, Kind, Place, list_kinds
from wirebench.plan.drafts.openapi import Document
from wirebench.plan.drafts.proto import Schema
from wirebench.system.files import make_write_error, write_atomic
from wirebench.system.tls import ClientTls, split_address

_Texts = list[str] | None


def init(  # noqa: PLR0913 - one parameter an option
    *,
    openapi: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="An OpenAPI or Swagger document, YAML or JSON.")
    ] = None,
    proto: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A proto file, or a compiled set (.binpb); repeatable.")
    ] = None,
    imports: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="What imports in proto files are relative to; default: their own folders."),
    ] = None,
    reflection: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running gRPC service that serves reflection.")
    ] = None,
    pair: Annotated[
        _Texts, typer.Option(metavar="'REQUEST = CALL'", help="An operation of both transports; repeatable.")
    ] = None,
    rest: Annotated[_Texts, typer.Option(metavar="REQUEST", help="One of REST alone: 'GET /items/{id}'.")] = None,
    grpc: Annotated[_Texts, typer.Option(metavar="CALL", help="One of gRPC alone: package.Service/Method.")] = None,
    reads: Annotated[
        _Texts, typer.Option(metavar="REQUEST|CALL", help="This one changes nothing, whatever its method is.")
    ] = None,
    start: Annotated[
        _Texts,
        typer.Option(metavar="COMMAND", help="Starts the service; write rest=COMMAND and grpc=COMMAND if it has both."),
    ] = None,
    address: Annotated[
        _Texts, typer.Option(metavar="HOST:PORT", help="Where the service runs already, with rest= or grpc= as above.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder that both files go to.")] = Path(),
    tls_files: TlsOptions,
) -> None:
    """Draft an application file and a scenario for your own service.

    Without names, it lists the requests and calls that there are:

    wirebench init --openapi http://127.0.0.1:8080/openapi.json --proto shop.proto

    With names, it writes both files, with example values that satisfy the schema:

    wirebench init --openapi shop.yaml --proto shop.proto --pair 'GET /items/{id} = shop.v1.Catalog/GetItem'

    An operation writes unless its method is safe, or --reads names it.
    """
    if proto and reflection:
        raise UsageError("--proto and --reflection both describe gRPC", "give one of them")
    if not (proto or openapi or reflection):
        hint = "give --openapi FILE, --proto FILE, or --reflection HOST:PORT of a running service"
        raise UsageError("nothing describes the service", hint)
    tls = tls_files.load()
    schema, keys = _read_schema(proto or [], imports or [], reflection, tls, out)
    document = Document(openapi) if openapi else None
    if not (pair or rest or grpc):
        _list_operations(document, schema)
        return
    operations = _draft_operations(document, schema, pair or [], rest or [], grpc or [])
    _mark_reads(operations, reads or [])
    kinds = list_kinds(operations)
    places = _read_places(start or [], address or [], tls, kinds)
    if reflection and "grpc" in kinds and "grpc" not in places:
        places["grpc"] = Place(address=reflection, tls=tls)
    given = [each for each in (openapi, *map(str, proto or []), reflection) if each]
    sources = [each if "://" in each else Path(each).name for each in given]
    name = _make_slug((document and document.title) or _name_packages(schema) or Path(sources[0]).stem)
    _write(Drafts(name, " and ".join(sources), operations, places, keys), out)


def _read_schema(
    protos: Sequence[Path], imports: Sequence[Path], reflection: str | None, tls: ClientTls | None, out: Path
) -> tuple[Schema | None, dict[str, Any]]:
    """Return the schema of gRPC, and the keys of a variant that name it. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        if reflection:
            return Schema(reflect(reflection, Path(folder), tls)), {"schema": REFLECTION}
        if not protos:
            return None, {}
        below = imports or list(dict.fromkeys(each.parent for each in protos))
        schema = Schema(compile_schema(protos, below, Path(folder)))
    return schema, {"schema": _make_relative(protos, out), "imports": _make_relative(below, out)}


def _make_relative(paths: Iterable[Path], folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in paths]


def _list_operations(document: Document | None, schema: Schema | None) -> None:
    """Print a line for each request and call, in the form that options take."""
    listed: dict[str, str] = document.list_requests() if document else {}
    for call, reason in (schema.list_calls() if schema else {}).items():
        rules = schema.list_rules(call) if schema and not reason else []
        listed |= {f"{rule.label} = {call}": "" for rule in rules} or {call: reason}
    for operation, reason in listed.items():
        typer.echo(f"{operation}    # can't be measured: {reason}" if reason else operation)
    options = "--pair 'REQUEST = CALL', --rest REQUEST and --grpc CALL"
    sys.stderr.write(f"{pluralise(len(listed), 'line')}\nnext: name what is to be measured, by {options}\n")


def _draft_operations(
    document: Document | None, schema: Schema | None, pairs: Sequence[str], rests: Sequence[str], calls: Sequence[str]
) -> list[Draft]:
    drafts = []
    for text in pairs:
        request, mark, call = (part.strip() for part in text.rpartition(" = "))
        if not mark or " " not in request:
            hint = "--pair 'GET /items/{id} = shop.v1.Catalog/GetItem'"
            raise UsageError(f"--pair {text!r}: is not REQUEST = CALL", hint)
        described = document.draft(request) if document and request in document.list_requests() else None
        drafts.append(_need(schema, "--pair").draft(call, request, described))
    drafts += [_need(document, "--rest", "--openapi").draft(each) for each in rests]
    drafts += [_need(schema, "--grpc").draft(each) for each in calls]
    seen: Counter[str] = Counter()
    for draft in drafts:
        seen[draft.name] += 1
        if seen[draft.name] > 1:
            draft.name += f"_{seen[draft.name]}"
    return drafts


def _need(source: Any, option: str, by: str = "--proto or --reflection") -> Any:  # noqa: ANN401 - one of two readers
    if source is None:
        raise UsageError(f"{option} names what nothing describes", f"add {by}")
    return source


def _mark_reads(drafts: Sequence[Draft], reads: Sequence[str]) -> None:
    for text in reads:
        found = [draft for draft in drafts if text in (draft.about, *draft.about.split(" = "))]
        if not found:
            raise UsageError(
                f"--reads {text!r}: is not one of the operations", "write it as --pair, --rest or --grpc do"
            )
        for draft in found:
            draft.writes = False


def _name_packages(schema: Schema | None) -> str:
    packages = schema.packages if schema else set()
    return packages.pop().replace(".", "-") if len(packages) == 1 else ""


def _make_slug(name: str) -> str:
    """Return the name of an application from that of a document, a package or a file."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].rstrip("-")
    return slug if slug[:1].isalpha() else f"service-{slug}".rstrip("-")


def _read_places(
    commands: Sequence[str], addresses: Sequence[str], tls: ClientTls | None, kinds: Sequence[Kind]
) -> dict[Kind, Place]:
    """Return how variants are started, and where they run. Raises UsageError."""
    started = dict(_split_kind("--start", each, kinds) for each in commands)
    reached = dict(_split_kind("--address", each, kinds) for each in addresses)
    for command in started.values():
        if "{port}" not in command:
            hint = "write {port} where the command takes its port"
            raise UsageError(f"--start {command!r}: it has no {{port}}", hint)
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


def _write(drafts: Drafts, out: Path) -> None:
    """Write both files. Raises UsageError if one of them is there, and WirebenchError if it can't be written."""
    application, scenario = out / f"{drafts.name}.yaml", out / f"{drafts.name}-scenario.yaml"
    for path in (application, scenario):
        if path.exists():
            raise UsageError(f"{path} is there already", "remove it, or choose another folder: --out DIR")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(out, error) from error
    texts: Mapping[Path, Iterable[str]] = {
        application: drafts.render_application(),
        scenario: drafts.render_scenario(application.name),
    }
    for path, lines in texts.items():
        write_atomic(path, "\n".join((*lines, "")))
    missing = [kind for kind in list_kinds(drafts.operations) if kind not in drafts.places]
    steps = [f"write start or address of {' and '.join(missing)} into {application}"] if missing else []
    if any(draft.inputs for draft in drafts.operations):
        steps.append(f"choose values that exist, in {application}")
    sys.stderr.write(
        f"wrote {pluralise(len(drafts.operations), 'operation')} to {application}, and {scenario}\n"
        f"next: {'; '.join((*steps, f'wirebench run {scenario}'))}\n"
    )
