"""The socket client: the frame protocol of proto/socket.md."""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import NamedTuple

import grpc
import orjson

from wirebench_services.client.client import REPLY_BYTES_MAX, Client, Reply, has_ended
from wirebench_services.contract import AnyMessage, Data, Operation, parse_response, read_data, to_json

_PREFACES = {"json": b"WB1J", "protobuf": b"WB1P"}
#: A status is gRPC's number.
_CODES = {code.value[0]: code.name.lower() for code in grpc.StatusCode}
_REQUEST = struct.Struct(">IIB")  # length, id, method_length
_REPLY = struct.Struct(">IIBH")  # length, id, status, message_length
_LENGTH_BYTES = 4


class Frame(NamedTuple):
    """A reply frame."""

    id: int
    status: int
    message: str
    body: bytes


class SocketClient(Client):
    """Speaks frames, with JSON or protobuf in them."""

    transport = "socket"
    _last_id = 0

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        self._last_id += 1
        body = request.SerializeToString() if self.codec == "protobuf" else orjson.dumps(to_json(request))
        self._send_frame(self._last_id, operation.name, body)
        frame = self._receive_frame(self._last_id)
        if frame.status:
            return Reply(_CODES[frame.status], frame.message)
        encoded = frame.body if self.codec == "protobuf" else {"data": orjson.loads(frame.body)}
        return Reply("ok", frame.message, read_data(parse_response(operation, encoded)))

    def _stream(self, operation: Operation, request: AnyMessage) -> Generator[Data]:
        yield self._call(operation, request)  # the protocol has no streams: the service rejects it

    def ask(self, request_id: int, method: str, body: bytes) -> Frame:
        """Send a request frame, whatever its method and body, and return the reply to it. Raises ClientError."""
        with self.exchange():
            self._send_frame(request_id, method, body)
            return self._receive_frame(request_id)

    def _send_frame(self, request_id: int, method: str, body: bytes) -> None:
        name = method.encode("ascii")
        length = _REQUEST.size - _LENGTH_BYTES + len(name) + len(body)
        connection = self._socket
        if connection is None or has_ended(connection):
            self.close()
            connection = self.dial()
            connection.sendall(_PREFACES[self.codec])
        connection.sendall(_REQUEST.pack(length, request_id, len(name)) + name + body)

    def _receive_frame(self, expected_id: int) -> Frame:
        """Wait for a reply frame. Raises ValueError, also for another id than the expected one."""
        header = self._receive(_REPLY.size)
        length, request_id, status, message_length = _REPLY.unpack(header)
        rest = length - (_REPLY.size - _LENGTH_BYTES)
        # Before the rest is waited for: what something else sends rarely is as long as it would have to be.
        is_whole = message_length <= rest <= REPLY_BYTES_MAX and status in _CODES
        if not is_whole or request_id != expected_id:
            raise ValueError(repr(header))
        payload = self._receive(rest)
        return Frame(request_id, status, payload[:message_length].decode(), payload[message_length:])

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1024 * 1024)) if self._socket else b""
            if not part:
                raise EOFError
            data += part
        return bytes(data)
