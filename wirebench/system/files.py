"""Reading files within a limit, and writing them whole or not at all, whatever stops the writing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError


def write_atomic(path: Path, content: str | bytes) -> None:
    """Put bytes, or a text and a line's end, on disk under this name, or change nothing. Raises WirebenchError.

    A reader never meets a part: it is on disk, under a name of its own, before it gets the right one. A link stays, and
    leads to what is written. A device or a pipe stays what it is, and gets what is written at once.
    """
    written = content if isinstance(content, bytes) else f"{content}\n".encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(written)  # which a folder rejects
            return
        place = Path(os.path.realpath(path))
        if place.is_symlink():
            place.stat()  # raises an error: it leads to itself
        temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)  # a link of that name would be followed
        try:
            with temporary.open("xb") as file:
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(place)
        finally:
            # Also when interrupted; when all went well there is nothing of that name.
            with contextlib.suppress(OSError):
                temporary.unlink()
    except OSError as error:
        raise make_write_error(path, error) from error


def read_limited(path: Path, bytes_max: int, hint: str, hint_too_long: str) -> bytes:
    """Return what a file holds. Raises UsageError if it can't be read, or holds more."""
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint) from None
    if len(content) > bytes_max:
        raise UsageError(f"{path}: over {bytes_max // 1_000_000} MB", hint_too_long)
    return content


def name_temporary() -> str:
    """Return what the names of our temporary files begin with; `processes` removes them if we are killed."""
    return f"wirebench-{os.getpid()}-"


def make_write_error(path: Path, error: OSError) -> WirebenchError:
    return WirebenchError(f"can't write {path}: {error.strerror}", "make room, or choose another place")
