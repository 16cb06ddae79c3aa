"""Line mode: what `nc` speaks (proto/socket.md)."""

from __future__ import annotations

from services.domain import echo

LINE_BYTES_MAX = 64 * 1024


class LineError(Exception):
    """A line that is answered with an error, after which the connection is closed."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def next_line(data: bytes, offset: int) -> tuple[int, str] | None:
    """Return where the next line starts and the text of the one at `offset`, or None if it has no end yet.

    Raises LineError.
    """
    newline = data.find(b"\n", offset)
    if newline < 0:
        if len(data) - offset > LINE_BYTES_MAX + len(b"\r"):
            raise _too_long()
        return None
    return newline + 1, decode(data[offset:newline])


def decode(line: bytes) -> str:
    """Return the text of a line, without the CR of its end. Raises LineError."""
    line = line.removesuffix(b"\r")
    if len(line) > LINE_BYTES_MAX:
        raise _too_long()
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise LineError("The line is not valid UTF-8.") from None


def answer(text: str) -> bytes:
    """Return the text in upper case, as a line."""
    # An empty line comes back too, where the operation would miss its text.
    return (echo.upper(text) if text else "").encode() + b"\n"


def encode_error(message: str) -> bytes:
    """Return the line that says what was wrong."""
    return f"ERROR: {message}\n".encode()


def _too_long() -> LineError:
    return LineError(f"The line is longer than {LINE_BYTES_MAX} bytes.")
