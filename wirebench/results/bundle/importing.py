"""Import of a bundle: everything is checked in a folder of its own before anything gets its name."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wirebench.errors import UsageError, WirebenchError
from wirebench.results.bundle.archive import Entry, read_entries
from wirebench.results.bundle.check import load_checked_run
from wirebench.results.bundle.manifest import (
    MANIFEST,
    MANIFEST_BYTES_MAX,
    REPORT,
    SCENARIO,
    Manifest,
    Member,
    read_manifest,
)
from wirebench.results.bundle.write import WriteReport, compute_run_digest, is_resumed_from, list_members, read_version
from wirebench.results.runs import IMPORTED_FILE, Run, load_run
from wirebench.system.files import make_write_error

#: Two folders below the results, so that it is not listed as a run.
_STAGING_PREFIX = ".import-"
#: A run that is here and stopped, until the same one takes its place that was resumed.
_BEFORE = "before"
_HINT = "nothing was imported; ask for the file again, or for one by another version"


@dataclass(frozen=True, slots=True)
class Imported:
    """A run that is here now; `is_new` unless it was before, the same to the byte."""

    run: Run
    digest: str
    is_new: bool


def import_bundle(stream: BinaryIO, name: str, results: Path, write_report: WriteReport) -> Imported:
    """Take the run of a bundle into a results folder, whole or not at all, whatever stops it.

    `name` is the bundle's, for messages. A run that is here incomplete gives way to the same one, resumed. The report
    is drawn here, from the records. Raises UsageError for what isn't a bundle, or another run of the same name;
    WirebenchError if the folder can't be written to.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_STAGING_PREFIX, dir=results) as staging:
            run, digest = unpack(stream, name, Path(staging))
            place = results / run.info.id
            is_here = place.exists() or place.is_symlink()
            if is_here and (existing := _find_same(place, run, digest, name)):
                return Imported(existing, digest, is_new=False)
            _draw_report(run, name, write_report)
            _move_in(run.folder, place, Path(staging) / _BEFORE, replaces=is_here)
    except OSError as error:
        raise make_write_error(results, error) from error
    return Imported(load_run(place), digest, is_new=True)


def _move_in(folder: Path, place: Path, before: Path, *, replaces: bool) -> None:
    """Give a folder its name; what it replaces is put where it goes from, or back if anything stops that.

    Raises OSError if another run has taken the name meanwhile.
    """
    try:
        if replaces and place.exists():
            place.rename(before)
        folder.rename(place)
    except BaseException:
        if before.exists() and not place.exists():
            before.rename(place)
        raise


def unpack(stream: BinaryIO, name: str, into: Path) -> tuple[Run, str]:
    """Unpack a bundle into a folder below this one, and return its run and digest once all of it is checked.

    Raises UsageError for what isn't a bundle; OSError if the folder can't be written to.
    """
    try:
        entries = read_entries(stream)
        manifest = _read_manifest(next(entries, None))
        folder = into / manifest.run
        _unpack_all(entries, manifest, folder)
        run = _check_run(manifest, folder)
        (folder / IMPORTED_FILE).touch()
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint or _HINT) from None
    return run, manifest.digest


def _read_manifest(entry: Entry | None) -> Manifest:
    folder, _, path = (entry.path if entry else "").rpartition("/")
    if entry is None or path != MANIFEST:
        raise UsageError(f"it isn't a wirebench bundle: it doesn't begin with a {MANIFEST}")
    if entry.size > MANIFEST_BYTES_MAX:
        raise UsageError(f"its manifest would be {entry.size:,} bytes, over {MANIFEST_BYTES_MAX:,}")
    manifest = read_manifest(b"".join(entry.content), read_version())
    if folder != manifest.run:
        raise UsageError(f"its folder is {folder!r}, and its manifest is of run {manifest.run!r}")
    return manifest


def _unpack_all(entries: Iterator[Entry], manifest: Manifest, folder: Path) -> None:
    """Read the files that the manifest lists, in its order, and nothing else; what is kept goes into the folder."""
    for below in ("", "records", "histograms", "logs"):
        (folder / below).mkdir()
    for member in manifest.everything:
        is_kept = member.path not in (REPORT, SCENARIO)
        _unpack(next(entries, None), member, manifest.run, folder / member.path if is_kept else None)
    if entry := next(entries, None):
        raise UsageError(f"{entry.path!r} isn't in its manifest")


def _unpack(entry: Entry | None, member: Member, run: str, target: Path | None) -> None:
    if entry is None:
        raise UsageError(f"{member.path} is in its manifest and missing")
    if entry.path != f"{run}/{member.path}":
        raise UsageError(f"{entry.path!r} is where its manifest has {member.path}")
    if entry.size != member.size:
        raise UsageError(f"{member.path} has {entry.size:,} bytes, and in its manifest {member.size:,}")
    found = hashlib.sha256()
    with target.open("xb") if target else contextlib.nullcontext() as file:
        for piece in entry.content:
            found.update(piece)
            if file:
                file.write(piece)
    if found.hexdigest() != member.sha256:
        raise UsageError(f"{member.path} hasn't the SHA-256 of its manifest")


def _check_run(manifest: Manifest, folder: Path) -> Run:
    """Read what was unpacked, and see that it is the run that the manifest names, and nothing but that."""
    try:
        run = load_checked_run(folder)
    except UsageError as error:
        made_by = f"it was made by wirebench {manifest.wirebench}, and this is {read_version()}"
        raise UsageError(error.message, "" if manifest.wirebench == read_version() else f"{made_by}; {_HINT}") from None
    if run.info.id != manifest.run:
        raise UsageError(f"its manifest is of run {manifest.run!r}, and its run.json of {run.info.id!r}")
    if run.info.status == "running":
        raise UsageError("its run is still running")
    if odd := {each.path for each in list_members(run)} ^ {each.path for each in manifest.members}:
        raise UsageError(f"{min(odd)} and its records don't go together")
    return run


def _draw_report(run: Run, name: str, write_report: WriteReport) -> None:
    """Draw the report from the records: the sender's is a page that could hold anything.

    What passed all checks and yet can't be drawn is nothing that a measurement leaves. Raises UsageError.
    """
    try:
        write_report(run, run.folder / REPORT)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: no report can be made of its figures: {error}", _HINT) from None


def _find_same(place: Path, run: Run, digest: str, name: str) -> Run | None:
    """Return the run that is here, if it is the one of the digest; None if that is a later state of it.

    Raises UsageError if it is neither.
    """
    hint = "nothing was imported; move the existing one, or import into another folder: --out"
    try:
        existing = load_run(place)
        if compute_run_digest(existing) == digest:
            return existing
        if is_resumed_from(run, existing):
            return None
    except WirebenchError as error:
        raise UsageError(f"{name}: {place} is here, and can't be read: {error.message}", hint) from None
    raise UsageError(f"{name}: another run of the same name is here: {place}", hint)
