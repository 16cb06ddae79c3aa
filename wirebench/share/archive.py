"""The file that a bundle is: a tar in gzip, written the same every time, and read without believing what it claims.

Reading takes the stream as it comes, so that a pipe will do, and never asks for more memory than a piece. `tarfile`
parses the header blocks and nothing else: its reader would follow links, extended headers and sizes.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Final, Self

from wirebench.errors import UsageError
from wirebench.share.manifest import MANIFEST_BYTES_MAX, TOTAL_BYTES_MAX

_BLOCK: Final = tarfile.BLOCKSIZE
_PIECE_BYTES: Final = 64 * 1024
_COMPRESSION_LEVEL: Final = 6
_GZIP: Final = 16 + zlib.MAX_WBITS
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


class Writer:
    """Writes an archive; the same members give the same bytes, with one version of zlib."""

    def __init__(self, file: BinaryIO, folder: str, unix_s: int) -> None:
        """Take where it goes, the folder that all members are in, and what time they are of."""
        self._folder = folder
        self._unix_s = unix_s
        self._gzip = gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=file, mtime=0)
        self._tar = tarfile.open(  # noqa: SIM115 - closed by __exit__
            fileobj=self._gzip, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="strict"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the end, if all went well."""
        if kind is None:
            self._tar.close()
            self._gzip.close()

    def add(self, path: str, content: bytes) -> None:
        """Write a member."""
        info = tarfile.TarInfo(f"{self._folder}/{path}")
        info.size, info.mtime = len(content), self._unix_s
        self._tar.addfile(info, io.BytesIO(content))


@dataclass(frozen=True, slots=True)
class Entry:
    """A member as its header has it: a plain file. Its content is what comes next."""

    path: str
    size: int


class Reader:
    """Reads an archive from its start to its end. Everything raises UsageError, without the file's name."""

    def __init__(self, stream: BinaryIO) -> None:
        """Take a stream of the archive's bytes."""
        self._unpacked = _Unpacked(stream)

    def next_entry(self) -> Entry | None:
        """Read the next header; None at the end."""
        header = self._header()
        if header is None:
            return None
        path = header.name
        if header.type == tarfile.GNUTYPE_LONGNAME:
            path = self._long_name(header.size)
            header = self._header()
            if header is None:
                raise UsageError(f"{path!r} is a name without a file")
        if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise UsageError(f"{path!r} is {_KINDS.get(header.type, 'something')}, and no file")
        if header.size < 0:
            raise UsageError(f"{path!r} has a negative size")
        return Entry(path, header.size)

    def content(self, entry: Entry) -> Iterator[bytes]:
        """Yield an entry's content in pieces; to its end, if all are taken."""
        left = entry.size
        while left:
            piece = self._unpacked.read(min(left, _PIECE_BYTES))
            left -= len(piece)
            yield piece
        self._unpacked.read(-entry.size % _BLOCK)

    def end(self) -> None:
        """See that there is nothing behind the end that `next_entry` has met."""
        self._unpacked.read_end()

    def _header(self) -> tarfile.TarInfo | None:
        block = self._unpacked.read(_BLOCK)
        if not any(block):
            return None
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeError):
            raise UsageError("a member's header is damaged") from None

    def _long_name(self, size: int) -> str:
        if not 0 < size <= _LONG_NAME_BYTES_MAX:
            raise UsageError(f"a member's name has {size:,} bytes")
        content = self._unpacked.read(size + -size % _BLOCK)[:size]
        try:
            return content.rstrip(b"\0").decode()
        except UnicodeError:
            raise UsageError("a member's name isn't UTF-8") from None


class _Unpacked:
    """What gzip unpacks a stream to, within limits on what comes out and not on what is claimed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._zlib = zlib.decompressobj(_GZIP)
        self._packed_bytes = self._unpacked_bytes = 0
        self._packed = b""

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes."""
        pieces = []
        while size:
            piece = self._piece(size)
            if not piece:
                raise UsageError("it is truncated: it ends in the middle")
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def read_end(self) -> None:
        """Read zeros to the end of everything, where gzip's checksum is."""
        zeros = 0
        while piece := self._piece(_PIECE_BYTES):
            zeros += len(piece)
            if any(piece) or zeros > _END_BYTES_MAX:
                raise UsageError("there is something behind its end")
        if not self._zlib.eof:
            raise UsageError("it is truncated: gzip's checksum is missing")
        if self._zlib.unused_data or self._more():
            raise UsageError("there is something behind its end")

    def _piece(self, size: int) -> bytes:
        """Return at least one byte and at most so many; none at the end of the stream, or of what is packed."""
        while not self._zlib.eof:
            try:
                piece = self._zlib.decompress(self._packed, size)
            except zlib.error:
                reason = "it is damaged: gzip can't unpack it" if self._unpacked_bytes else "it isn't a gzip file"
                raise UsageError(reason) from None
            self._packed = self._zlib.unconsumed_tail
            if piece:
                self._count(len(piece))
                return piece
            if not self._packed:
                self._packed = self._more()
                if not self._packed:
                    break
        return b""

    def _more(self) -> bytes:
        try:
            read = self._stream.read(_PIECE_BYTES)
        except OSError as error:
            raise UsageError(f"it can't be read: {error.strerror}") from None
        self._packed_bytes += len(read)
        return read

    def _count(self, unpacked_bytes: int) -> None:
        self._unpacked_bytes += unpacked_bytes
        if self._unpacked_bytes > _UNPACKED_BYTES_MAX:
            raise UsageError(f"it unpacks to over {_UNPACKED_BYTES_MAX // 2**20:,} MiB")
        if self._unpacked_bytes > max(_HARMLESS_BYTES, _RATIO_MAX * self._packed_bytes):
            raise UsageError(f"it unpacks to over {_RATIO_MAX} times its size")
