"""The file that a bundle is: a tar in gzip, written the same every time, and read without believing what it claims.

Reading takes the stream as it comes, so that a pipe will do, and never asks for more memory than a piece. `tarfile`
parses the header blocks and nothing else: its reader would follow links, extended headers and sizes.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import BinaryIO, Final, cast

from wirebench.errors import UsageError
from wirebench.results.bundle.manifest import MANIFEST_BYTES_MAX, TOTAL_BYTES_MAX

_BLOCK: Final = tarfile.BLOCKSIZE
_PIECE_BYTES: Final = 64 * 1024
_COMPRESSION_LEVEL: Final = 6
_LONG_NAME_BYTES_MAX: Final = 1024
#: What the end may be filled up with: `tar` writes whole records of 20 blocks, some write more.
_END_BYTES_MAX: Final = 2**20
_UNPACKED_BYTES_MAX: Final = TOTAL_BYTES_MAX + MANIFEST_BYTES_MAX + 2**26
#: JSON shrinks to a tenth. More than so many times its size is a bomb, but for what does no harm.
_RATIO_MAX: Final = 100
_HARMLESS_BYTES: Final = 64 * 2**20

_KINDS: Final = {
    tarfile.LNKTYPE: "a link",
    tarfile.SYMTYPE: "a link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.DIRTYPE: "a folder",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


@contextlib.contextmanager
def write_archive(file: BinaryIO, folder: str, unix_s: int) -> Iterator[Callable[[str, bytes], None]]:
    """Have a function that adds a member, below that folder and of that time.

    The same members give the same bytes, with one version of zlib.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="strict") as archive,
    ):

        def add(path: str, content: bytes) -> None:
            info = tarfile.TarInfo(f"{folder}/{path}")
            info.size, info.mtime = len(content), unix_s
            archive.addfile(info, io.BytesIO(content))

        yield add


@dataclass(frozen=True, slots=True)
class Entry:
    """A plain file as its header has it; its content, in pieces, has to be taken before the next entry."""

    path: str
    size: int
    content: Iterator[bytes]


def read_entries(stream: BinaryIO) -> Iterator[Entry]:
    """Read an archive from its start to its end, behind which there may be nothing.

    Raises UsageError, without the file's name.
    """
    archive = _Archive(stream)
    while any(block := archive.read(_BLOCK)):
        header, path = _parse(block), ""
        if header.type == tarfile.GNUTYPE_LONGNAME:
            if not 0 < header.size <= _LONG_NAME_BYTES_MAX:
                raise UsageError(f"a member's name has {header.size:,} bytes")
            path = archive.read(header.size + -header.size % _BLOCK).rstrip(b"\0").decode(errors="replace")
            header = _parse(archive.read(_BLOCK))
        path = path or header.name
        if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise UsageError(f"{path!r} is {_KINDS.get(header.type, 'something')}, and no file")
        if header.size < 0:
            raise UsageError(f"{path!r} has a negative size")
        yield Entry(path, header.size, archive.read_content(header.size))
    archive.read_end()


def _parse(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeError):
        raise UsageError("a member's header is damaged") from None


class _Archive:
    """What gzip unpacks a stream to, within limits on what comes out and not on what is claimed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._packed_bytes = self._unpacked_bytes = 0
        self._gzip = gzip.GzipFile(fileobj=cast("BinaryIO", SimpleNamespace(read=self._read_packed)), mode="rb")

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes."""
        if len(piece := self._read(size)) < size:
            raise UsageError("it is truncated: it ends in the middle")
        return piece

    def read_content(self, size: int) -> Iterator[bytes]:
        """Yield so many bytes in pieces, and read on to the end of their last block."""
        for start in range(0, size, _PIECE_BYTES):
            yield self.read(min(size - start, _PIECE_BYTES))
        self.read(-size % _BLOCK)

    def read_end(self) -> None:
        """Read zeros to the end of everything, where gzip's checksum is."""
        zeros = 0
        while piece := self._read(_PIECE_BYTES):
            zeros += len(piece)
            if any(piece) or zeros > _END_BYTES_MAX:
                raise UsageError("there is data after its end")

    def _read(self, size: int) -> bytes:
        try:
            piece = self._gzip.read(size)
        except EOFError:
            raise UsageError("it is truncated: gzip's end is missing") from None
        except (gzip.BadGzipFile, zlib.error):
            reason = "it is damaged: gzip can't unpack it" if self._unpacked_bytes else "it isn't a gzip file"
            raise UsageError(reason) from None
        except OSError as error:
            raise UsageError(f"it can't be read: {error.strerror}") from None
        self._unpacked_bytes += len(piece)
        if self._unpacked_bytes > _UNPACKED_BYTES_MAX:
            raise UsageError(f"it unpacks to over {_UNPACKED_BYTES_MAX // 2**20:,} MiB")
        if self._unpacked_bytes > max(_HARMLESS_BYTES, _RATIO_MAX * self._packed_bytes):
            raise UsageError(f"it unpacks to over {_RATIO_MAX} times its size")
        return piece

    def _read_packed(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._packed_bytes += len(piece)
        return piece
