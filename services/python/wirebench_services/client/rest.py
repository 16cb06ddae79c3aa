"""The REST client: the standard library's HTTP, one kept connection."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import orjson

from wirebench_services.client.client import Client, Reply, has_ended
from wirebench_services.client.operations import AnyMessage, Data, Operation, read_data, to_json

_MEDIA_TYPES = {"json": "application/json", "protobuf": "application/x-protobuf"}
_CODES = {
    200: "ok",
    201: "ok",
    400: "invalid_argument",
    404: "not_found",
    405: "unimplemented",
    409: "already_exists",
    413: "resource_exhausted",
    415: "invalid_argument",
    500: "internal",
    503: "unavailable",
}


class RestClient(Client):
    """Speaks JSON or protobuf over HTTP/1.1."""

    transport = "rest"
    _connection: http.client.HTTPConnection | None = None

    def _call(self, operation: Operation, request: AnyMessage) -> Reply:
        return _read_reply(operation, self._send_request(operation, request, self.codec))

    def _stream(self, operation: Operation, request: AnyMessage) -> Iterator[Data]:
        response = self._send_request(operation, request, "json")
        if response.headers.get_content_type() != "text/event-stream":
            yield _read_reply(operation, response)
            return
        try:
            event = b"message"
            for line in response:  # Server-Sent Events (WHATWG HTML, section 9.2), as far as the contract has them
                field, _, value = line.rstrip(b"\r\n").partition(b": ")
                if field == b"event":
                    event = value
                elif field == b"data" and event == b"message":
                    yield read_data(operation.parse({"data": orjson.loads(value)}))
                elif field == b"data":
                    # An event has no code: an error is a service that stops, or whose store is gone.
                    message = orjson.loads(value).get("message", "")
                    yield Reply("ok", "") if event == b"end" else Reply("unavailable", message)
                    return
        finally:
            self.close()  # cancels what has not ended
        raise EOFError

    def _send_request(self, operation: Operation, request: AnyMessage, codec: str) -> http.client.HTTPResponse:
        method, path = operation.route.split()
        fields = to_json(request)
        for name in [each.name for each in request.DESCRIPTOR.fields if f"{{{each.name}}}" in path]:
            path = path.replace(f"{{{name}}}", str(getattr(request, name)))
            fields.pop(name, None)
        headers = {"Accept": _MEDIA_TYPES[codec]}
        if method not in ("POST", "PUT"):
            return self._send(method, f"{path}?{urlencode(fields)}" if fields else path, None, headers)
        headers["Content-Type"] = _MEDIA_TYPES[codec]
        if codec == "protobuf":
            return self._send(method, path, request.SerializeToString(), headers)
        body = fields.get(operation.body, {}) if operation.body else fields
        return self._send(method, path, orjson.dumps(body), headers)

    def _send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        if not (self._connection and self._connection.sock) or has_ended(self._connection.sock):
            self.close()
            self._connection = http.client.HTTPConnection(*self.address)
            self._connection.sock = self.dial()
        self._connection.request(method, path, body, headers)
        return self._connection.getresponse()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None


def _read_reply(operation: Operation, response: http.client.HTTPResponse) -> Reply:
    """Return the reply that is in the envelope. Raises ValueError."""
    body = response.read()
    if response.headers.get_content_type() == _MEDIA_TYPES["protobuf"]:
        parsed = operation.parse(body)
        success, message = parsed.success, parsed.message
    else:
        envelope = orjson.loads(body)
        if not isinstance(envelope, dict):
            raise ValueError(repr(envelope))
        success, message, data = (envelope.get(name) for name in ("success", "message", "data"))
        parsed = operation.parse({"data": data})
    code = _CODES.get(response.status, "")
    if not code or success is not (code == "ok"):
        raise ValueError(f"{response.status} {body!r}")
    return Reply(code, message, read_data(parsed) if success else None)
