"""The socket client: the frame protocol of proto/socket.md."""

from __future__ import annotations

import orjson

from wirebench_services import contract
from wirebench_services.client.client import REPLY_BYTES_MAX, Client, Reply, has_ended
from wirebench_services.contract import AnyMessage, Operation, parse_response, read_data, to_json

_PREFACES = {encoding: preface for preface, encoding in contract.PREFACES.items()}
_CODES = {status: code for code, status in contract.STATUSES.items()}


class SocketClient(Client):
    """Speaks frames, with JSON or protobuf in them."""

    transport = "socket"
    _last_id = 0

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        self._last_id += 1
        body = request.SerializeToString() if self.codec == "protobuf" else orjson.dumps(to_json(request))
        connection = self._socket
        if connection is None or has_ended(connection):
            self.close()
            connection = self.dial()
            connection.sendall(_PREFACES[self.codec])
        name = operation.name.encode()
        length = contract.REQUEST.size - contract.LENGTH_BYTES + len(name) + len(body)
        connection.sendall(contract.REQUEST.pack(length, self._last_id, len(name)) + name + body)
        code, message, body = self._receive_reply()
        if code != "ok":
            return Reply(code, message)
        encoded = body if self.codec == "protobuf" else {"data": orjson.loads(body)}
        return Reply(code, message, read_data(parse_response(operation, encoded)))

    def _receive_reply(self) -> tuple[str, str, bytes]:
        """Wait for the reply to the last request: its code, message and body. Raises ValueError."""
        header = self._receive(contract.REPLY.size)
        length, request_id, status, message_length = contract.REPLY.unpack(header)
        rest = length - (contract.REPLY.size - contract.LENGTH_BYTES)
        # Before the rest is waited for: what something else sends rarely is as long as it would have to be.
        is_whole = message_length <= rest <= REPLY_BYTES_MAX and status in _CODES
        if not is_whole or request_id != self._last_id:
            raise ValueError(repr(header))
        payload = self._receive(rest)
        return _CODES[status], payload[:message_length].decode(), payload[message_length:]

    def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(min(size - len(data), 1024 * 1024)) if self._socket else b""
            if not part:
                raise EOFError
            data += part
        return bytes(data)
