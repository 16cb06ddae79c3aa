"""Making a bundle of a run."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.run_info import RunInfo
from wirebench.model.variant import CONTRACT_FILE
from wirebench.results.bundle.archive import write_archive
from wirebench.results.bundle.check import load_checked_run
from wirebench.results.bundle.manifest import MANIFEST, REPORT, RUN, SCENARIO, Manifest, Member, compute_digest
from wirebench.results.runs import APPLICATION_FILE, TIMING_FILE, Run
from wirebench.system.files import open_atomic

SUFFIX = ".wirebench.tar.gz"
#: Writes the report of a run to a path, and returns the path: `wirebench.report.write_report`.
WriteReport = Callable[[Run, Path], Path]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was made: where it is, what names its run, and how many bytes it has."""

    path: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class _BundleMember:
    """A member's path in the bundle, and its bytes or where they are."""

    path: str
    content: Path | bytes

    def read(self) -> bytes:
        """Return the bytes. Raises WirebenchError."""
        if isinstance(self.content, bytes):
            return self.content
        try:
            return self.content.read_bytes()
        except OSError as error:
            raise WirebenchError(f"can't read {self.content}: {error.strerror}", "is the run whole?") from error

    def make_member(self) -> Member:
        content = self.read()
        return Member(path=self.path, size=len(content), sha256=hashlib.sha256(content).hexdigest())


def read_version() -> str:
    return metadata.version("wirebench")


def write_bundle(run: Run, write_report: WriteReport, output: Path | None = None, *, with_logs: bool = False) -> Bundle:
    """Put a run into one file, by default one of its name here, whole or not at all; the same run, the same bytes.

    Raises UsageError for a run that is still running or is damaged, WirebenchError if the file can't be written.
    """
    path = output or Path(f"{run.info.id}{SUFFIX}")
    if run.info.status == "running":
        raise UsageError(f"run {run.info.id} is still running", "wait for its end, or interrupt it")
    try:
        load_checked_run(run.folder)
    except UsageError as error:
        hint = "import would reject a bundle of it; nothing was written"
        raise UsageError(f"{run.folder} is damaged: {error.message}", hint) from None
    with tempfile.TemporaryDirectory(prefix="wirebench-") as drawn:
        members = tuple(list_members(run))
        attachments = tuple(_list_attachments(run, write_report(run, Path(drawn) / REPORT), with_logs=with_logs))
        manifest = _make_manifest(run.info.id, members, attachments)
        start_unix_s = int(datetime.fromisoformat(run.info.started_at).timestamp())
        with open_atomic(path) as file, write_archive(file, run.info.id, start_unix_s) as add:
            add(MANIFEST, f"{manifest.model_dump_json(indent=1)}\n".encode())
            for source, member in zip((*members, *attachments), manifest.everything, strict=True):
                content = source.read()
                if hashlib.sha256(content).hexdigest() != member.sha256:
                    raise WirebenchError(f"{source.path} has changed meanwhile", "try again once nothing writes there")
                add(source.path, content)
    return Bundle(path, manifest.digest, path.stat().st_size)


def compute_run_digest(run: Run) -> str:
    """Return the digest that a bundle of the run has. Raises WirebenchError if a file of it can't be read."""
    return compute_digest(source.make_member() for source in list_members(run))


def is_resumed_from(run: Run, before: Run) -> bool:
    """Say whether a run is one that was stopped, as it is `before`, and resumed: with all that it had, to the byte.

    Raises WirebenchError if a file can't be read.
    """
    moments = before.info.resumed_at
    is_later = len(run.info.resumed_at) > len(moments) and run.info.resumed_at[: len(moments)] == moments
    if not is_later or before.info.status != "incomplete":
        return False
    had = {source.make_member() for source in list_members(before) if source.path != RUN}
    return had <= {source.make_member() for source in list_members(run)}


def list_members(run: Run) -> Iterator[_BundleMember]:
    """Yield the files of a run in the order of their paths; files that no record names are left out."""
    sources = [_BundleMember(RUN, _make_run_json(run))]
    others = (TIMING_FILE, APPLICATION_FILE, *(path.name for path in run.folder.glob(CONTRACT_FILE.format("*"))))
    sources += [_BundleMember(name, run.folder / name) for name in others if (run.folder / name).is_file()]
    for record in run.records:
        path = f"records/{record.id}.json"
        sources.append(_BundleMember(path, run.folder / path))
        sources.append(_BundleMember(record.histogram_file, run.folder / record.histogram_file))
    yield from sorted(sources, key=lambda source: source.path)


def _make_run_json(run: Run) -> Path | bytes:
    """Return run.json; that of a killed run is marked, because its process id means another process elsewhere."""
    path = run.folder / RUN
    if RunInfo.model_validate_json(path.read_bytes()) == run.info:
        return path
    return f"{run.info.model_dump_json(indent=1)}\n".encode()


def _list_attachments(run: Run, report: Path, *, with_logs: bool) -> Iterator[_BundleMember]:
    if with_logs:
        logs = (path for path in (run.folder / "logs").glob("*.log") if path.is_file())
        yield from (_BundleMember(f"logs/{path.name}", path) for path in sorted(logs))
    yield _BundleMember(REPORT, report)
    yield _BundleMember(SCENARIO, run.info.scenario_text.encode())


def _make_manifest(run: str, members: Iterable[_BundleMember], attachments: Iterable[_BundleMember]) -> Manifest:
    listed = tuple(source.make_member() for source in members)
    try:
        return Manifest(
            wirebench=read_version(),
            run=run,
            digest=compute_digest(listed),
            members=listed,
            attachments=tuple(source.make_member() for source in attachments),
        )
    except ValueError as error:
        raise UsageError(f"run {run} can't be bundled: {error}", "share its report instead") from None
