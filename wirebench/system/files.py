"""Reading files within a limit, and writing them whole or not at all, whatever stops the writing."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from wirebench.errors import UsageError, WirebenchError

_MAKE_ROOM = "make room, or choose another place"
#: What to do next about what the system has said.
_NEXT_STEPS = {
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
    errno.ENOENT: "make the folder first, or choose another place",
    errno.EISDIR: "name a file",
    errno.EPIPE: "its reader has to stay until the end",
}


def is_file(path: Path) -> bool:
    """Return whether a file is there; not where that can't be told, as its name is too long or its folder another's."""
    try:
        return path.is_file()
    except OSError:
        return False


def write_atomic(path: Path, text: str) -> None:
    """Put a text and a line's end on disk under this name, or change nothing. Raises WirebenchError."""
    with open_atomic(path) as file:
        file.write(f"{text}\n".encode())


@contextlib.contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write; what is written gets this name when the block ends well, and otherwise nothing changes.

    A reader never meets a part: it is on disk, under a name of its own, before it gets the right one. A link stays, and
    leads to what is written. A device or a pipe stays what it is, and gets what is written at once.

    Raises WirebenchError for every OSError, in the block as well.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:  # which a folder rejects
                yield file
            return
        place = Path(os.path.realpath(path))
        if place.is_symlink():
            place.stat()  # raises an error: it leads to itself
        temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                yield file
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


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time into the `with` block, of all that ask for this folder; one that dies is out of it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_write_error(path: Path, error: OSError) -> WirebenchError:
    hint = _NEXT_STEPS.get(error.errno or 0, "choose another place")
    return WirebenchError(f"can't write {path}: {error.strerror}", hint)
