"""The REST client: the standard library's HTTP, one kept connection."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote, urlencode

import orjson

from wirebench.drivers.clients.client import Client, Fields, ItemStream, Reply
from wirebench.drivers.clients.messages import OperationMessages, convert_json, encode_json, find_operation
from wirebench.drivers.clients.peer import Peer, has_ended
from wirebench.model.address import Address
from wirebench.model.contract import HTTP_CODES, Codec
from wirebench.model.template import find_placeholders
from wirebench.system.tls import ClientTls

_PROTOCOL = "wirebench's REST API"
_MEDIA_TYPES: dict[Codec, str] = {"json": "application/json", "protobuf": "application/x-protobuf"}

#: Statuses of the contract. 404 and 405 are also those of a path or a method that isn't there.
_CODES = HTTP_CODES | {200: "ok", 201: "ok", 408: "deadline_exceeded", 504: "deadline_exceeded"}


class Response(NamedTuple):
    """An HTTP response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class _ServerSentEvent(NamedTuple):
    """A whole Server-Sent Event (WHATWG HTML, section 9.2); without a name it is a message."""

    name: str
    data: bytes


class RestClient(Client):
    """Speaks JSON or protobuf over one connection, which it opens again when the server has closed it between requests.

    It keeps no connection before the first request: a server that serves one at a time would wait for it.
    """

    transport = "rest"

    def __init__(
        self, address: Address, timeout_s: float = 5.0, codec: Codec = "json", tls: ClientTls | None = None
    ) -> None:
        self._codec = codec
        self._peer = Peer(address, timeout_s, tls, "http/1.1")
        self._connection = http.client.HTTPConnection(*address, timeout=timeout_s)
        self._peer.dial().close()

    def call(self, operation: str, fields: Fields) -> Reply:
        found = find_operation(operation)
        method, path, rest = _find_route(found, fields)
        headers, body = {"Accept": _MEDIA_TYPES[self._codec]}, None
        if found.rest.get("body") is not None:
            headers["Content-Type"] = _MEDIA_TYPES[self._codec]
            body = self._encode_body(found, fields, rest)
        elif rest:
            path = f"{path}?{urlencode(rest)}"
        return self._make_reply(found, self.request(method, path, body, headers))

    def _encode_body(self, found: OperationMessages, fields: Fields, rest: Fields) -> bytes:
        """Return a request's body: in protobuf the whole message, in JSON what the path doesn't say."""
        if self._codec == "protobuf":
            return found.encode(fields)
        # A body that is one input is that field, and not an object around it.
        template = found.rest["body"]
        only = template.strip("{}") if isinstance(template, str) else None
        return encode_json(rest.get(only, {}) if only else rest)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send any HTTP request and return the response, whatever it is. Raises ClientError."""
        with self._translate_errors():
            return _read(self._send(method, path, body, headers))

    def stream(self, operation: str, fields: Fields) -> ItemStream:
        found = find_operation(operation, stream=True)
        _, path, rest = _find_route(found, fields)
        return ItemStream(self._read_items(f"{path}?{urlencode(rest)}", found.rest.get("end")))

    def _read_items(self, path: str, end: str | None) -> Generator[object, None, Reply]:
        with self._translate_errors():
            response = self._send("GET", path)
            if response.status != HTTPStatus.OK:
                return self._make_reply(None, _read(response))
            if response.headers.get_content_type() != "text/event-stream":
                raise self._peer.explain_wrong_protocol(_PROTOCOL, str(response.headers).encode())
            try:
                for event in _read_events(response.readline):
                    if event.name != "message":
                        return self._parse_end(event, end)
                    yield self._decode(event.data)
            finally:
                self._connection.close()  # which cancels what has not ended
        raise self._peer.explain_hang_up()

    def _parse_end(self, event: _ServerSentEvent, end: str | None) -> Reply:
        data = self._decode(event.data)
        if event.name == end:
            return Reply("ok", "")
        if event.name == "error" and isinstance(data, dict):
            # Events have no code: this is the one of services that stop, or whose store has gone.
            return Reply("unavailable", str(data.get("message", "")))
        raise self._peer.explain_wrong_protocol(_PROTOCOL, repr(event).encode())

    def _decode(self, data: bytes) -> object:
        try:
            return convert_json(orjson.loads(data))
        except ValueError:
            raise self._peer.explain_wrong_protocol(_PROTOCOL, data) from None

    def _send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPResponse:
        connected: socket.socket | None = self._connection.sock
        if connected is None or has_ended(connected):
            self._connection.close()
            self._connection.sock = self._peer.dial()
        self._connection.request(method, path, body, dict(headers or {}))
        return self._connection.getresponse()

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (http.client.RemoteDisconnected, http.client.IncompleteRead):
            self._connection.close()
            raise self._peer.explain_hang_up() from None
        except http.client.HTTPException as error:
            self._connection.close()
            raise self._peer.explain_wrong_protocol(_PROTOCOL, str(error).encode(errors="replace")) from None
        except OSError as error:
            self._connection.close()
            raise self._peer.explain_failure(error) from error

    def close(self) -> None:
        self._connection.close()

    def _make_reply(self, operation: OperationMessages | None, response: Response) -> Reply:
        try:
            if operation and response.headers.get("content-type") == _MEDIA_TYPES["protobuf"]:
                code, (message, data) = _CODES[response.status], operation.decode(response.body)
                return Reply(code, message, data if code == "ok" else None)
            return _decode_reply(response)
        except (ValueError, KeyError):
            received = f"{response.status} ".encode() + response.body
            raise self._peer.explain_wrong_protocol(_PROTOCOL, received) from None


def _find_route(found: OperationMessages, fields: Fields) -> tuple[str, str, Fields]:
    """Return method and path of a request, and the fields that are not in the path."""
    method, _, target = found.rest["request"].partition(" ")
    path = target.partition("?")[0]
    in_path = set(find_placeholders(path))
    for name in in_path:
        path = path.replace(f"{{{name}}}", quote(str(fields.get(name, 0)), safe=""))
    return method, path, {name: value for name, value in fields.items() if name not in in_path}


def _read_events(read_line: Callable[[], bytes]) -> Iterator[_ServerSentEvent]:
    """Yield events, as far as the contract has them, until there are no more lines; an incomplete one is dropped."""
    name, data = "message", b""
    while line := read_line():
        field, _, value = line.rstrip(b"\r\n").partition(b": ")
        if field == b"event":
            name = value.decode(errors="replace")
        elif field == b"data":
            data = value
        elif not field:
            yield _ServerSentEvent(name, data)
            name, data = "message", b""


def _read(response: http.client.HTTPResponse) -> Response:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Response(response.status, headers, response.read())


def _decode_reply(response: Response) -> Reply:
    """Return the reply that is in the envelope. Raises ValueError, KeyError."""
    envelope = orjson.loads(response.body)
    code = _CODES[response.status]
    if not isinstance(envelope, dict) or envelope["success"] is not (code == "ok"):
        raise ValueError("not the envelope of the contract")
    return Reply(code, envelope["message"], convert_json(envelope["data"]))
