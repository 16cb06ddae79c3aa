"""The REST client: the standard library's HTTP, one kept connection."""

from __future__ import annotations

import http.client
from collections.abc import Generator
from urllib.parse import urlencode

import orjson

from wirebench_services.client.client import REPLY_BYTES_MAX, Client, Reply, has_ended
from wirebench_services.contract import CODES, AnyMessage, Data, Operation, parse_response, read_data, to_json

_MEDIA_TYPES = {"json": "application/json", "protobuf": "application/x-protobuf"}
_LINE_BYTES_MAX = 64 * 1024


class RestClient(Client):
    """Speaks JSON or protobuf over HTTP/1.1."""

    transport = "rest"
    _connection: http.client.HTTPConnection | None = None

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        return _read_reply(operation, self._send(operation, request, self.codec))

    def _stream(self, operation: Operation, request: AnyMessage) -> Generator[Data]:
        response = self._send(operation, request, "json")
        if response.headers.get_content_type() != "text/event-stream":
            yield _read_reply(operation, response)
            return
        try:
            event = b"message"
            # Server-Sent Events (WHATWG HTML, section 9.2), as far as the contract has them.
            while line := response.readline(_LINE_BYTES_MAX):
                field, _, value = line.rstrip(b"\r\n").partition(b": ")
                if field == b"event":
                    event = value
                elif field == b"data" and event == b"message":
                    yield read_data(parse_response(operation, {"data": orjson.loads(value)}))
                elif field == b"data":
                    # An event has no code: an error is a service that stops, or whose store is gone.
                    message = orjson.loads(value).get("message", "")
                    yield Reply("ok", "") if event == b"end" else Reply("unavailable", message)
                    return
        finally:
            self.close()  # cancels what has not ended
        raise EOFError

    def _send(self, operation: Operation, request: AnyMessage, codec: str) -> http.client.HTTPResponse:
        path, fields = operation.path, to_json(request)
        for name in [each.name for each in request.DESCRIPTOR.fields if f"{{{each.name}}}" in path]:
            path = path.replace(f"{{{name}}}", str(getattr(request, name)))
            fields.pop(name, None)
        headers, body = {"Accept": _MEDIA_TYPES[codec]}, None
        if operation.method in ("POST", "PUT"):
            headers["Content-Type"] = _MEDIA_TYPES[codec]
            # In JSON, the body of users.create is the user.
            body = request.SerializeToString() if codec == "protobuf" else orjson.dumps(fields.get("user", fields))
        elif fields:
            path = f"{path}?{urlencode(fields)}"
        if not (self._connection and self._connection.sock) or has_ended(self._connection.sock):
            self.close()
            self._connection = http.client.HTTPConnection(*self.address)
            self._connection.sock = self.dial()
        self._connection.request(operation.method, path, body, headers)
        return self._connection.getresponse()

    def close(self) -> None:
        super().close()
        self._connection = None


def _read_reply(operation: Operation, response: http.client.HTTPResponse) -> Reply:
    """Return the reply that is in the envelope. Raises ValueError."""
    body = response.read(REPLY_BYTES_MAX + 1)
    if len(body) > REPLY_BYTES_MAX:
        raise ValueError(f"its reply is longer than {REPLY_BYTES_MAX} bytes")
    if response.length:
        raise EOFError
    if response.headers.get_content_type() == _MEDIA_TYPES["protobuf"]:
        parsed = parse_response(operation, body)
        success, message = parsed.success, parsed.message
    else:
        envelope = orjson.loads(body)
        if not isinstance(envelope, dict):
            raise ValueError(repr(envelope))
        success, message, data = (envelope.get(name) for name in ("success", "message", "data"))
        parsed = parse_response(operation, {"data": data})
    code = CODES.get(response.status, "")
    if not code or success is not (code == "ok"):
        raise ValueError(f"{response.status} {body!r}")
    return Reply(code, message, read_data(parsed) if success else None)
