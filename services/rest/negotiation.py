"""Content negotiation: the encoding of a request's body, and that of its reply."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from services.operations import Codec, JsonEnvelopeCodec, Operation, ProtobufEnvelopeCodec
from services.operations.operation import Fields

JSON = "application/json"
PROTOBUF = "application/x-protobuf"

#: Combinations of headers that are remembered; clients send few, and always the same.
_REMEMBERED = 256


class EnvelopeCodec(Codec, Protocol):
    """A codec whose replies say by themselves how the operation ended."""

    def encode_failure(self, message: str) -> bytes:
        """Return the body of a reply that says what went wrong."""


class Exchange(NamedTuple):
    """What the headers of a request ask for."""

    #: Whether there is a codec for the body's media type.
    readable: bool
    codec: EnvelopeCodec
    #: Of the reply.
    content_type: str


class _Translation:
    """Reads one encoding and writes another."""

    def __init__(self, reader: EnvelopeCodec, writer: EnvelopeCodec) -> None:
        self._reader = reader
        self._writer = writer

    def decode(self, operation: Operation, body: bytes) -> Fields:
        return self._reader.decode(operation, body)

    def encode(self, operation: Operation, value: Any) -> bytes:  # noqa: ANN401 - what the operation returned
        return self._writer.encode(operation, value)

    def encode_failure(self, message: str) -> bytes:
        return self._writer.encode_failure(message)


_CODECS: dict[str, EnvelopeCodec] = {
    # POST /api/users takes the user itself, and not a message that holds it.
    JSON: JsonEnvelopeCodec({"users.create": "user"}),
    PROTOBUF: ProtobufEnvelopeCodec(),
}


@lru_cache(_REMEMBERED)
def negotiate(content_type: str, accept: str) -> Exchange:
    """Return what the two headers ask for; an empty text is a header that is missing."""
    sent = _media_type(content_type) or JSON
    readable = sent in _CODECS
    reader = sent if readable else JSON
    writer = _preferred(accept, reader)
    codec = _CODECS[reader] if reader == writer else _Translation(_CODECS[reader], _CODECS[writer])
    return Exchange(readable, codec, writer)


def _media_type(text: str) -> str:
    """Return a media type without its parameters."""
    return text.partition(";")[0].strip().lower()


def _preferred(accept: str, sent: str) -> str:
    """Return the encoding that suits the client best: any means the one that it sent, none means JSON."""
    # Sorting keeps the client's order among ranges of equal quality.
    ranges = sorted((item for item in accept.split(",") if item.strip()), key=_quality, reverse=True)
    for item in ranges or ["*/*"]:
        wanted = _media_type(item)
        if _quality(item) > 0 and wanted in ("*/*", "application/*"):
            return sent
        if _quality(item) > 0 and wanted in _CODECS:
            return wanted
    return JSON


def _quality(item: str) -> float:
    """Return the weight of a media range, `q` of RFC 9110, section 12.4.2; one that is no number counts as 0."""
    for parameter in item.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
