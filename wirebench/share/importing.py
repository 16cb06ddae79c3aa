"""Taking a bundle in: everything is checked in a folder of its own before anything gets its name."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wirebench.errors import UsageError, WirebenchError
from wirebench.files import cannot_write
from wirebench.report import write_report
from wirebench.share.archive import Reader
from wirebench.share.bundle import goes_on_from, members_of, run_digest, version
from wirebench.share.check import checked_run
from wirebench.share.manifest import MANIFEST, MANIFEST_BYTES_MAX, Manifest, Member, read_manifest
from wirebench.store import Run, load_run

#: Two folders below the results, so that nobody who looks for runs there meets it.
_STAGING_PREFIX = ".import-"
#: A run that is here and stopped, until the same one takes its place that was resumed.
_BEFORE = "before"
_HINT = "nothing was taken in; ask for the file again, or for one by another version"


@dataclass(frozen=True, slots=True)
class Imported:
    """A run that is here now; `is_new` unless it was before, the same to the byte."""

    run: Run
    digest: str
    is_new: bool


def import_bundle(stream: BinaryIO, name: str, results: Path) -> Imported:
    """Take the run of a bundle into a results folder, whole or not at all, whatever stops it.

    `name` is the bundle's, for messages. A run that is here incomplete gives way to the same one, resumed. The report
    is drawn here, from the records. Raises UsageError for what is no bundle, or another run of the same name;
    WirebenchError if the folder can't be written to.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_STAGING_PREFIX, dir=results) as staging:
            run, digest = unpack(stream, name, Path(staging))
            place = results / run.info.id
            if (place.exists() or place.is_symlink()) and (here := _same(place, run, digest, name)):
                return Imported(here, digest, is_new=False)
            _draw_report(run, name)
            _put(run.folder, place, Path(staging) / _BEFORE)
    except OSError as error:
        raise cannot_write(results, error) from error
    return Imported(load_run(place), digest, is_new=True)


def _put(folder: Path, place: Path, before: Path) -> None:
    """Give a folder its name; what has it is put where it goes from, or back if anything stops that."""
    try:
        if place.exists():
            place.rename(before)
        folder.rename(place)
    except BaseException:
        if before.exists() and not place.exists():
            before.rename(place)
        raise


def unpack(stream: BinaryIO, name: str, into: Path) -> tuple[Run, str]:
    """Unpack a bundle into a folder below this one, and return its run and digest once all of it is checked.

    Raises UsageError for what is no bundle; OSError if the folder can't be written to.
    """
    try:
        reader = Reader(stream)
        manifest = _read_manifest(reader)
        folder = into / manifest.run
        _unpack_all(reader, manifest, folder)
        return _checked(manifest, folder), manifest.digest
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint or _HINT) from None


def _read_manifest(reader: Reader) -> Manifest:
    entry = reader.next_entry()
    folder, _, path = (entry.path if entry else "").rpartition("/")
    if entry is None or path != MANIFEST:
        raise UsageError(f"it is no bundle of wirebench: it doesn't begin with a {MANIFEST}")
    if entry.size > MANIFEST_BYTES_MAX:
        raise UsageError(f"its manifest would be {entry.size:,} bytes, over {MANIFEST_BYTES_MAX:,}")
    manifest = read_manifest(b"".join(reader.content(entry)), version())
    if folder != manifest.run:
        raise UsageError(f"its folder is {folder!r}, and its manifest is of run {manifest.run!r}")
    return manifest


def _unpack_all(reader: Reader, manifest: Manifest, folder: Path) -> None:
    for below in (folder, folder / "records", folder / "histograms", folder / "logs"):
        below.mkdir()
    for member in manifest.members:
        _unpack(reader, manifest, member, folder)
    for member in manifest.attachments:
        _unpack(reader, manifest, member, folder if member.path.startswith("logs/") else None)
    if (entry := reader.next_entry()) is not None:
        raise UsageError(f"{entry.path!r} isn't in its manifest")
    reader.end()


def _unpack(reader: Reader, manifest: Manifest, member: Member, folder: Path | None) -> None:
    """Read the next file, which must be this member, into a folder; with None only to check it."""
    entry = reader.next_entry()
    if entry is None:
        raise UsageError(f"{member.path} is in its manifest and missing")
    if entry.path != f"{manifest.run}/{member.path}":
        raise UsageError(f"{entry.path!r} is where its manifest has {member.path}")
    if entry.size != member.size:
        raise UsageError(f"{member.path} has {entry.size:,} bytes, and in its manifest {member.size:,}")
    found = hashlib.sha256()
    with (folder / member.path).open("xb") if folder else contextlib.nullcontext() as file:
        for piece in reader.content(entry):
            found.update(piece)
            if file:
                file.write(piece)
    if found.hexdigest() != member.sha256:
        raise UsageError(f"{member.path} hasn't the SHA-256 of its manifest")


def _checked(manifest: Manifest, folder: Path) -> Run:
    """Read what was unpacked, and see that it is the run that the manifest names, and nothing but that."""
    try:
        run = checked_run(folder)
    except UsageError as error:
        made_by = f"it was made by wirebench {manifest.wirebench}, and this is {version()}"
        raise UsageError(error.message, "" if manifest.wirebench == version() else f"{made_by}; {_HINT}") from None
    if run.info.id != manifest.run:
        raise UsageError(f"its manifest is of run {manifest.run!r}, and its run.json of {run.info.id!r}")
    if run.info.status == "running":
        raise UsageError("its run goes on, somewhere")
    if odd := {each.path for each in members_of(run)} ^ {each.path for each in manifest.members}:
        raise UsageError(f"{min(odd)} and its records don't go together")
    return run


def _draw_report(run: Run, name: str) -> None:
    """Draw the report from the records: the sender's is a page that could hold anything.

    What passed all checks and yet can't be drawn is nothing that a measurement leaves. Raises UsageError.
    """
    try:
        write_report(run)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: no report can be made of its figures: {error}", _HINT) from None


def _same(place: Path, run: Run, digest: str, name: str) -> Run | None:
    """Return the run that is here, if it is the one of the digest; None if that is a later state of it.

    Raises UsageError if it is neither.
    """
    hint = "nothing was taken in; move the one that is here away, or take it into another folder: --out"
    try:
        here = load_run(place)
        if run_digest(here) == digest:
            return here
        if goes_on_from(run, here):
            return None
    except WirebenchError as error:
        raise UsageError(f"{name}: {place} is here, and can't be read: {error.message}", hint) from None
    raise UsageError(f"{name}: another run of the same name is here: {place}", hint)
