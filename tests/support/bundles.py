"""Bundles taken apart and put together again, with anything that might be forged."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.report_run import RunBuilder, cell
from wirebench.report import write_report
from wirebench.results.bundle.importing import import_bundle
from wirebench.results.bundle.manifest import Member, compute_digest
from wirebench.results.bundle.write import WriteReport
from wirebench.results.runs import Run

RUN = "20261121T101500Z-quick"


@dataclass(frozen=True)
class Part:
    """A member of an archive, and how its header differs from that of a plain file."""

    path: str
    content: bytes
    header: dict[str, Any]


def parts_of(bundle: bytes) -> list[Part]:
    """Return the members of a bundle."""
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        return [Part(each.name, archive.extractfile(each).read(), {}) for each in archive]  # type: ignore[union-attr]


def packed(parts: Iterable[Part], level: int = 1) -> bytes:
    """Return the bundle of these members."""
    file = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=file, mode="wb", compresslevel=level, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for part in parts:
            info = tarfile.TarInfo(part.path)
            info.size = len(part.content)
            for name, value in part.header.items():
                setattr(info, name, value)
            archive.addfile(info, io.BytesIO(part.content))
    return file.getvalue()


def manifest_of(parts: Iterable[Part]) -> dict[str, Any]:
    """Return what the manifest among the members says."""
    found: dict[str, Any] = json.loads(next(each.content for each in parts if each.path.endswith("/manifest.json")))
    return found


def with_manifest(parts: Iterable[Part], change: Callable[[dict[str, Any]], object]) -> list[Part]:
    """Return the members with a manifest that was changed, and whose digest is right again."""
    parts = list(parts)
    manifest = manifest_of(parts)
    change(manifest)
    if isinstance(manifest.get("members"), list):
        manifest["digest"] = compute_digest(Member.model_construct(**each) for each in manifest["members"])
    content = json.dumps(manifest).encode()
    return [replace(each, content=content) if each.path.endswith("/manifest.json") else each for each in parts]


def with_content(parts: Iterable[Part], path: str, change: Callable[[bytes], bytes]) -> list[Part]:
    """Return the members with the first one whose path begins so changed; the manifest agrees with it."""
    parts = list(parts)
    place = next(place for place, each in enumerate(parts) if each.path.startswith(f"{RUN}/{path}"))
    content = change(parts[place].content)
    parts[place] = replace(parts[place], content=content)
    name = parts[place].path.removeprefix(f"{RUN}/")

    def agree(manifest: dict[str, Any]) -> None:
        for each in (*manifest["members"], *manifest["attachments"]):
            if each["path"] == name:
                each.update(size=len(content), sha256=hashlib.sha256(content).hexdigest())

    return with_manifest(parts, agree)


def with_json(parts: Iterable[Part], path: str, **changes: object) -> list[Part]:
    """Return the members with fields of one JSON file changed; the manifest agrees with it."""
    return with_content(parts, path, lambda content: json.dumps(json.loads(content) | changes).encode())


def with_attachment(parts: Iterable[Part], path: str, content: bytes) -> list[Part]:
    """Return the members with one more at the end; the manifest agrees with it."""
    listed = {"path": path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    changed = with_manifest(parts, lambda manifest: manifest["attachments"].append(listed))
    return [*changed, Part(f"{RUN}/{path}", content, {})]


SMALL = RunBuilder(cells=[cell("rest"), cell("socket")], blocks=2, samples=200)


def import_bytes(bundle: bytes, results: Path, draw: WriteReport = write_report) -> Run:
    """Import a bundle from its bytes."""
    return import_bundle(io.BytesIO(bundle), "theirs.tar.gz", results, draw).run
