"""The socket client: the frame protocol of proto/socket.md."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

import grpc
import orjson

from wirebench_services.client.client import Client, Reply, has_ended
from wirebench_services.client.operations import AnyMessage, Data, Operation, read_data, to_json

_PREFACES = {"json": b"WB1J", "protobuf": b"WB1P"}
#: A status is gRPC's number.
_CODES = {code.value[0]: code.name.lower() for code in grpc.StatusCode}
_REQUEST = struct.Struct(">IIB")  # length, id, method_length
_REPLY = struct.Struct(">IIBBH")  # length, id, status, flags, message_length
_LENGTH_BYTES = 4


class Frame(NamedTuple):
    """A reply frame."""

    id: int
    status: int
    flags: int
    message: str
    body: bytes


class SocketClient(Client):
    """Speaks frames, with JSON or protobuf in them."""

    transport = "socket"
    _connection: socket.socket | None = None
    _last_id = 0

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        frame = self.receive_frame(self._send(operation, request))
        return Reply(_CODES[frame.status], frame.message, None if frame.status else self._read_data(operation, frame))

    def _stream(self, operation: Operation, request: AnyMessage) -> Iterator[Data]:
        request_id = self._send(operation, request)
        try:
            while (frame := self.receive_frame(request_id)).flags:
                yield self._read_data(operation, frame)
        except GeneratorExit:
            self.close()  # which cancels
            raise
        yield Reply(_CODES[frame.status], frame.message)

    def _send(self, operation: Operation, request: AnyMessage) -> int:
        self._last_id += 1
        body = request.SerializeToString() if self.codec == "protobuf" else orjson.dumps(to_json(request))
        self.send_frame(self._last_id, operation.name, body)
        return self._last_id

    def _read_data(self, operation: Operation, frame: Frame) -> Data:
        encoded = frame.body if self.codec == "protobuf" else {"data": orjson.loads(frame.body)}
        return read_data(operation.parse(encoded))

    def send_frame(self, request_id: int, method: str, body: bytes) -> None:
        """Send a request frame, whatever its body. Raises ClientError."""
        name = method.encode("ascii")
        length = _REQUEST.size - _LENGTH_BYTES + len(name) + len(body)
        with self.translate_errors():
            if self._connection is None or has_ended(self._connection):
                self.close()
                self._connection = self.dial()
                self._connection.sendall(_PREFACES[self.codec])
            self._connection.sendall(_REQUEST.pack(length, request_id, len(name)) + name + body)

    def receive_frame(self, expected_id: int | None = None) -> Frame:
        """Wait for the next reply frame. Raises ClientError, also for another id than the expected one."""
        with self.translate_errors():
            header = self._receive(_REPLY.size)
            length, request_id, status, flags, message_length = _REPLY.unpack(header)
            rest = length - (_REPLY.size - _LENGTH_BYTES)
            # Before the rest is waited for: what something else sends rarely is as long as it would have to be.
            if message_length > rest or status not in _CODES or flags > 1 or expected_id not in (None, request_id):
                raise ValueError(repr(header))
            payload = self._receive(rest)
            return Frame(request_id, status, flags, payload[:message_length].decode(), payload[message_length:])

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._connection.recv(min(size - len(data), 1024 * 1024)) if self._connection else b""
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None
