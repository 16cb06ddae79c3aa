"""`wirebench init`: list what a service's schema has, and draft files for the operations that are named."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wirebench.cli.console import escape_controls
from wirebench.cli.options import TlsOptions
from wirebench.errors import UsageError, pluralise
from wirebench.model.application import read_application
from wirebench.model.variant import REFLECTION
from wirebench.plan.drafts.files import KINDS, Draft, Drafts, Kind, check_named, make_variant, to_snake_case
from wirebench.plan.drafts.openapi import Document, read_document
from wirebench.plan.drafts.proto import Schema
from wirebench.run.schema import compile_schema, reflect
from wirebench.system.files import write_atomic
from wirebench.system.tls import ClientTls

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

    Without names, it lists the requests and calls that there are. With names, it writes both files, with example values
    that satisfy the schema. An operation writes unless its method is safe, or --reads names it.

    wirebench init --openapi http://127.0.0.1:8080/openapi.json
    wirebench init --proto shop.proto --grpc shop.v1.Catalog/GetItem
    """
    if proto and reflection:
        raise UsageError("--proto and --reflection both describe gRPC", "give one of them")
    if not (proto or reflection or (openapi and not (pair or grpc))):
        hint = "give --proto FILE, or --reflection HOST:PORT of a running service; --openapi FILE describes REST alone"
        raise UsageError("nothing describes the service, or its gRPC calls", hint)
    tls = tls_files.load()
    schema, keys = _read_schema(proto or [], imports or [], reflection, tls, out)
    requests = [*(rest or []), *(each.rpartition(" = ")[0] for each in pair or [])]
    document = read_document(openapi, requests) if openapi else Document("", {}, {})
    if not (pair or rest or grpc):
        _list_operations(document, schema)
        return
    operations = _draft_operations(document, schema, pair or [], rest or [], grpc or [])
    named = {name: each for each in operations for name in (each.about, *each.about.split(" = "))}
    for name in reads or []:
        check_named(name, dict.fromkeys(named, ""), "drafted operation")
        named[name].writes = False
    kinds = [kind for kind in KINDS if any(kind in each.kinds for each in operations)]
    commands = dict(_split_kind("--start", each, kinds) for each in start or [])
    addresses = dict(_split_kind("--address", each, kinds) for each in address or [])
    if reflection and "grpc" in kinds and "grpc" not in {**commands, **addresses}:
        addresses["grpc"] = reflection
    name = to_snake_case(document.title or operations[0].name.partition(".")[0]).replace("_", "-")[:50].rstrip("-")
    variants = {kind: make_variant(kind, commands.get(kind), addresses.get(kind), tls) for kind in kinds}
    if (folder := _make_relative(Path(), out)) != ".":
        for kind in commands:
            variants[kind]["folder"] = folder
    if "grpc" in variants:
        variants["grpc"] |= keys
    missing = [kind for kind in kinds if kind not in {**commands, **addresses}]
    _write(Drafts(name, operations, variants), out, missing)


def _read_schema(
    protos: Sequence[Path], imports: Sequence[Path], reflection: str | None, tls: ClientTls | None, out: Path
) -> tuple[Schema, dict[str, Any]]:
    """Return the schema of gRPC, and the keys of a variant that name it. Raises UsageError."""
    if reflection:
        return Schema(reflect(reflection, tls)), {"schema": REFLECTION}
    below = imports or list(dict.fromkeys(each.parent for each in protos))
    schema = Schema(compile_schema(protos, below) if protos else b"")
    keys = {"schema": protos, "imports": below}
    return schema, {key: [_make_relative(path, out) for path in paths] for key, paths in keys.items()}


def _make_relative(path: Path, folder: Path) -> str:
    """Return a path as a file in the folder has it, whatever links lead to either."""
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


def _list_operations(document: Document, schema: Schema) -> None:
    """Print a line for each request and call, in the form that options take."""
    listed = dict(document.requests)
    for call, reason in schema.calls.items():
        is_pair = not (reason or schema.methods[call].server_streaming)
        rules = schema.list_rules(call) if is_pair else {}
        listed |= {f"{rule} = {call}": "" for rule in rules} or {call: reason}
    for operation, reason in listed.items():
        line = f"{operation}    # can't be measured: {reason}" if reason else operation
        typer.echo(escape_controls(" ".join(line.splitlines())))
    options = "--pair 'REQUEST = CALL', --rest REQUEST and --grpc CALL"
    sys.stderr.write(f"{pluralise(len(listed), 'line')}\nnext: name what is to be measured, by {options}\n")


def _draft_operations(
    document: Document, schema: Schema, pairs: Sequence[str], rests: Sequence[str], calls: Sequence[str]
) -> list[Draft]:
    drafts = []
    for text in pairs:
        request, mark, call = (part.strip() for part in text.rpartition(" = "))
        if not mark or " " not in request:
            hint = "--pair 'GET /items/{id} = shop.v1.Catalog/GetItem'"
            raise UsageError(f"--pair {text!r}: is not REQUEST = CALL", hint)
        described = document.find_draft(request) if request in document.requests else None
        drafts.append(schema.draft(call, request, described))
    drafts += [*map(document.find_draft, rests), *map(schema.draft, calls)]
    names = [each.name for each in drafts]
    for place, each in enumerate(drafts):
        if each.name in names[:place]:
            each.name += f"_{place + 1}"
    return drafts


def _split_kind(flag: str, text: str, kinds: Sequence[Kind]) -> tuple[Kind, str]:
    """Return the variant that a text is for, and the text without it: `rest=…`. Raises UsageError."""
    prefix, mark, rest = text.partition("=")
    kind = next((each for each in kinds if mark and each == prefix), None)
    if kind is None and len(kinds) > 1:
        raise UsageError(f"{flag} {text!r}: doesn't name its variant", f"write {flag} '{kinds[0]}=…'")
    return (kind, rest) if kind else (kinds[0], text)


def _write(drafts: Drafts, out: Path, missing: Sequence[Kind]) -> None:
    """Write both files; `missing` are variants without a command or an address. Raises UsageError if one is there."""
    application, scenario = out / f"{drafts.name}.yaml", out / f"{drafts.name}-scenario.yaml"
    for path in (application, scenario):
        if path.exists():
            raise UsageError(f"{path} is there already", "remove it, or choose another folder: --out DIR")
    with contextlib.suppress(OSError):  # writing says why
        out.mkdir(parents=True, exist_ok=True)
    write_atomic(application, "\n".join(drafts.render_application()))
    try:
        read_application(application)
    except UsageError as error:
        application.unlink()
        hint = f"correct the options, or leave out this operation; {error.hint}"
        raise UsageError(f"the draft can't be used: {error.message}", hint, error.details) from None
    write_atomic(scenario, "\n".join(drafts.render_scenario(application.name)))
    steps = [f"write start or address of {' and '.join(missing)} into {application}"] if missing else []
    if any(draft.inputs for draft in drafts.operations):
        steps.append(f"choose values that exist, in {application}")
    steps.append(f"wirebench run {scenario}")
    count = pluralise(len(drafts.operations), "operation")
    sys.stderr.write(f"wrote {count} to {application}, and {scenario}\nnext: {'; '.join(steps)}\n")
