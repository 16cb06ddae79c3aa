"""The socket client: the frame protocol of proto/socket.md."""

from __future__ import annotations

import struct
import time
from collections.abc import Generator
from typing import NamedTuple

import orjson

from wirebench.drivers.clients.client import Client, ClientError, Fields, ItemStream, Reply
from wirebench.drivers.clients.messages import OperationMessages, convert_json, encode_json, find_operation
from wirebench.drivers.clients.peer import Peer, has_ended
from wirebench.model.address import Address
from wirebench.model.contract import Codec
from wirebench.system.tls import ClientTls

PREFACES: dict[Codec, bytes] = {"json": b"WB1J", "protobuf": b"WB1P"}

_CODES = {
    0: "ok",
    1: "cancelled",
    3: "invalid_argument",
    4: "deadline_exceeded",
    5: "not_found",
    6: "already_exists",
    8: "resource_exhausted",
    12: "unimplemented",
    13: "internal",
    14: "unavailable",
}
#: None, and MORE.
_FLAGS = (0, 1)
_PROTOCOL = "wirebench's socket protocol"
_REQUEST = struct.Struct(">IIB")  # length, id, method_length
_REPLY = struct.Struct(">IIBBH")  # length, id, status, flags, message_length
_LENGTH_BYTES = 4
#: More than any reply holds: what begins with more is no frame.
_PAYLOAD_BYTES_MAX = 256 * 1024 * 1024


class Frame(NamedTuple):
    """A reply frame."""

    id: int
    status: int
    flags: int
    message: str
    body: bytes


class SocketClient(Client):
    """Speaks frames over one connection, which it opens again when the server has closed it between requests."""

    transport = "socket"

    def __init__(
        self, address: Address, timeout_s: float = 5.0, codec: Codec = "json", tls: ClientTls | None = None
    ) -> None:
        self._peer = Peer(address, timeout_s, tls)
        self._codec = codec
        self._connection = self._peer.dial()
        self._greeted = False
        self._last_id = 0

    def call(self, operation: str, fields: Fields) -> Reply:
        found = find_operation(operation)
        frame = self.receive_frame(self._send(found, fields))
        if frame.flags:  # this operation is no stream
            raise self._peer.explain_wrong_protocol(_PROTOCOL, repr(frame).encode())
        code = _CODES[frame.status]
        return Reply(code, frame.message, self._decode_frame(found, frame) if code == "ok" else None)

    def stream(self, operation: str, fields: Fields) -> ItemStream:
        return ItemStream(self._read_items(find_operation(operation, stream=True), fields))

    def _read_items(self, found: OperationMessages, fields: Fields) -> Generator[object, None, Reply]:
        request_id = self._send(found, fields)
        try:
            while (frame := self.receive_frame(request_id)).flags:
                yield self._decode_frame(found, frame)
        except GeneratorExit:
            self._cancel(request_id)
            raise
        return Reply(_CODES[frame.status], frame.message)

    def _send(self, found: OperationMessages, fields: Fields) -> int:
        body = encode_json(fields) if self._codec == "json" else found.encode(fields)
        if self._connection.fileno() < 0 or has_ended(self._connection):
            self._connection.close()
            self._connection = self._peer.dial()
            self._greeted = False
        self._last_id += 1
        self.send_frame(self._last_id, found.socket["method"], body)
        return self._last_id

    def _cancel(self, request_id: int) -> None:
        """End a stream, and read what is left of it; or leave the connection, if that takes too long."""
        deadline_s = time.monotonic() + self._peer.timeout_s
        try:
            self.send_frame(request_id, "cancel", b"")
            while self.receive_frame(request_id).flags:
                if time.monotonic() > deadline_s:
                    raise self._peer.explain_failure(TimeoutError())
        except ClientError:
            self._connection.close()

    def _decode_frame(self, found: OperationMessages, frame: Frame) -> object:
        try:
            if self._codec == "json":
                return convert_json(orjson.loads(frame.body))
            return found.decode(frame.body)[1]
        except ValueError:
            raise self._peer.explain_wrong_protocol(_PROTOCOL, frame.body) from None

    def send_frame(self, request_id: int, method: str, body: bytes) -> None:
        """Send a request frame, whatever its body, after the preface if it is the first. Raises ClientError."""
        name = method.encode("ascii")
        length = _REQUEST.size - _LENGTH_BYTES + len(name) + len(body)
        preface = b"" if self._greeted else PREFACES[self._codec]
        try:
            self._connection.sendall(preface + _REQUEST.pack(length, request_id, len(name)) + name + body)
        except OSError as error:
            raise self._peer.explain_failure(error) from error
        self._greeted = True

    def receive_frame(self, expected_id: int | None = None) -> Frame:
        """Wait for the next reply frame. Raises ClientError, also for another id than the expected one."""
        header = self._receive(_REPLY.size)
        length, request_id, status, flags, message_length = _REPLY.unpack(header)
        rest = length - (_REPLY.size - _LENGTH_BYTES)
        fits = message_length <= rest <= _PAYLOAD_BYTES_MAX
        # Before the rest is waited for: what something else sends rarely is as long as it would have to be.
        if not fits or status not in _CODES or flags not in _FLAGS or expected_id not in (None, request_id):
            raise self._peer.explain_wrong_protocol(_PROTOCOL, header)
        payload = self._receive(rest)
        try:
            message = payload[:message_length].decode()
        except UnicodeDecodeError:
            raise self._peer.explain_wrong_protocol(_PROTOCOL, payload) from None
        return Frame(request_id, status, flags, message, payload[message_length:])

    def close(self) -> None:
        self._connection.close()

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self._connection.recv(min(size - len(data), 1024 * 1024))
            except OSError as error:
                raise self._peer.explain_failure(error) from error
            if not part:
                raise self._peer.explain_hang_up()
            data += part
        return bytes(data)
