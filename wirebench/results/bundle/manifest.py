"""What a bundle holds: every member with its size and hash, and one digest that names the run whatever carries it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from wirebench.errors import UsageError
from wirebench.model.frozen import StrictModel
from wirebench.model.validation_messages import describe_first
from wirebench.results.runs import is_run_name

SCHEMA: Final = "wirebench.bundle/1"
MANIFEST = "manifest.json"
RUN = "run.json"
REPORT = "report.html"
SCENARIO = "scenario.yaml"

MEMBERS_MAX = 25_000
MANIFEST_BYTES_MAX = 16 * 2**20
#: Reading a run keeps all its records in memory.
RECORDS_BYTES_MAX = 128 * 2**20
TOTAL_BYTES_MAX = 2 * 2**30

#: What a member may be, and how many bytes it may have. Its name is that of a record: ASCII, and no way out.
_NAME = r"b\d{3,4}-[A-Za-z0-9._-]{1,220}"
_MEMBERS = {
    r"run\.json": 16 * 2**20,
    r"timing\.json": 64_000_000,
    r"application\.json": 64_000_000,
    r"contract-[a-z0-9-]{1,40}\.binpb": 16 * 2**20,
    rf"records/{_NAME}\.json": 2**20,
    rf"histograms/{_NAME}\.json": 64 * 2**20,
}
#: What goes along to be read by people. None of it is believed; the report and the scenario are not even kept.
_ATTACHMENTS = {
    r"report\.html": 256 * 2**20,
    r"scenario\.yaml": 8 * 2**20,
    r"logs/[A-Za-z0-9._-]{1,240}\.log": 64 * 2**20,
}


def _find_size_max(path: str, kinds: dict[str, int]) -> int:
    """Return how many bytes such a member may have. Raises ValueError if there is no such."""
    for pattern, bytes_max in kinds.items():
        if re.fullmatch(pattern, path, re.ASCII):
            return bytes_max
    if re.search(r"^[/\\~]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)", path):
        raise ValueError(f"{path!r} points outside the bundle")
    raise ValueError(f"{path!r} isn't a file that a bundle can contain")


def _check_run_name(name: str) -> str:
    if not is_run_name(name):
        raise ValueError(f"{name[:100]!r} isn't a run name")
    return name


class Member(StrictModel):
    """A file in a bundle: its path below the bundle's folder, its size in bytes, and its SHA-256 in hexadecimal."""

    path: Annotated[str, Field(max_length=300)]
    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(StrictModel):
    """The first member of a bundle: what else is in it.

    `members` are the run, and `digest` is theirs. `attachments` are beside it: their hashes are checked, and they are
    not part of what the digest names, so that a run has one digest whichever version drew its report.
    """

    schema_version: Literal["wirebench.bundle/1"] = SCHEMA
    #: The version that made the bundle.
    wirebench: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+!-]{1,40}$")]
    run: Annotated[str, AfterValidator(_check_run_name)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    members: Annotated[tuple[Member, ...], Field(strict=False, max_length=MEMBERS_MAX)]
    attachments: Annotated[tuple[Member, ...], Field(strict=False, max_length=MEMBERS_MAX)]

    @property
    def everything(self) -> tuple[Member, ...]:
        return (*self.members, *self.attachments)

    @model_validator(mode="after")
    def _check_contents(self) -> Self:
        for kinds, members in ((_MEMBERS, self.members), (_ATTACHMENTS, self.attachments)):
            for each in members:
                if each.size > (bytes_max := _find_size_max(each.path, kinds)):
                    raise ValueError(f"{each.path} would be {each.size:,} bytes, over {bytes_max:,}")
        _reject_duplicates(self.everything)
        for what, below, bytes_max in (("records", "records/", RECORDS_BYTES_MAX), ("files", "", TOTAL_BYTES_MAX)):
            total = sum(each.size for each in self.everything if each.path.startswith(below))
            if total > bytes_max:
                raise ValueError(f"all {what} would be {total:,} bytes, over {bytes_max:,}")
        if RUN not in {each.path for each in self.members}:
            raise ValueError(f"{RUN} is missing")
        if self.digest != compute_digest(self.members):
            raise ValueError("the digest isn't that of the members")
        return self


def _reject_duplicates(members: Sequence[Member]) -> None:
    """Raise ValueError for paths that are one file, here or where upper case doesn't count."""
    seen: dict[str, str] = {}
    for each in members:
        if (other := seen.setdefault(each.path.casefold(), each.path)) != each.path:
            raise ValueError(f"{each.path} and {other} differ only in upper case")
    if len(seen) < len(members):
        raise ValueError("a path appears twice")


def compute_digest(members: Iterable[Member]) -> str:
    """Return the SHA-256 of the members' hashes and paths, in the form and order of `sha256sum`."""
    lines = sorted((each.path, each.sha256) for each in members)
    return hashlib.sha256("".join(f"{sha256}  {path}\n" for path, sha256 in lines).encode()).hexdigest()


def read_manifest(data: bytes, version: str) -> Manifest:
    """Read and check a manifest; `version` is that of this wirebench.

    Raises UsageError that says what is wrong, without the bundle's name; for another schema, which version to use.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError("its manifest isn't JSON") from None
    if not isinstance(found, dict):
        raise UsageError("its manifest isn't a mapping")
    schema = found.get("schema_version")
    if schema != SCHEMA:
        maker = str(found.get("wirebench"))[:40]
        raise UsageError(
            f"its schema is {str(schema)[:40]!r}, and this wirebench ({version}) reads {SCHEMA!r}",
            f"use the version that made it, {maker!r}, or a later one",
        )
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise UsageError(f"its manifest: {describe_first(error)}") from None
