"""What all clients share: a reply, a failure, and what a client is."""

from __future__ import annotations

import contextlib
import http.client
import select
import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from wirebench_services import format_address
from wirebench_services.contract import OPERATIONS, AnyMessage, Data, Operation

#: A request's fields by their names in the proto file; bytes are bytes.
Fields: TypeAlias = Mapping[str, Any]
REPLY_BYTES_MAX = 256 * 1024 * 1024


class ClientError(Exception):
    """There is no reply of the contract; `hint` is the next step."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered, in the same words on every transport.

    `code` is the lower-case name of a status of the contract (`ok`, `not_found`, …). `data` is None on failure;
    otherwise the reply's `data` with only the fields that are set: a dict, or a list of users.
    """

    code: str
    message: str
    data: Data = None

    @property
    def ok(self) -> bool:
        return self.code == "ok"


class Client(ABC):
    """A client of one service, for one thread. It connects with the first call, and again when the server has closed.

    `timeout_s` bounds a call as a whole, connecting included, and the wait for each item of a stream. `codec` is `json`
    or `protobuf`, where there is a choice. Without `tls` it speaks plain text.
    """

    transport: str
    _socket: socket.socket | None = None

    def __init__(
        self, address: tuple[str, int], timeout_s: float = 5.0, codec: str = "json", tls: ssl.SSLContext | None = None
    ) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self.codec = codec
        self.tls = tls

    def call(self, operation: str, fields: Fields) -> Reply:
        """Carry out an operation, such as `users.get` with `{"id": 7}`. Raises ClientError."""
        request = make_request(operation, fields)
        with self.exchange():
            return self._call(OPERATIONS[operation], request)

    def stream(self, operation: str, fields: Fields) -> Generator[Data]:
        """Yield the `data` of each item of a stream as it comes, and at last the reply that says how it ended.

        Closing it before its end cancels the stream, and until then there can be no other call. Raises ClientError.
        """
        items = self._stream(OPERATIONS[operation], make_request(operation, fields))
        with contextlib.closing(items):
            while True:
                with self.exchange():
                    item = next(items)
                yield item
                if isinstance(item, Reply):
                    return

    @abstractmethod
    def _call(self, operation: Operation, request: AnyMessage) -> Reply: ...

    def _stream(self, operation: Operation, request: AnyMessage) -> Generator[Data]:
        yield self._call(operation, request)  # where there are no streams, the service rejects it

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._socket:
            self._socket.close()
        self._socket = None

    def _abort(self) -> None:
        """Have a call that another thread waits for fail."""
        if self._socket:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # SSLSocket's own changes its state

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dial(self) -> socket.socket:
        """Open a connection, with TLS where it is asked for."""
        self._socket = connection = socket.create_connection(self.address, self.timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            self._socket = connection = self.tls.wrap_socket(connection, server_hostname=self.address[0])
        return connection

    @contextlib.contextmanager
    def exchange(self) -> Iterator[None]:
        """Bound all of an exchange by the timeout, close the connection and raise ClientError for what fails.

        ValueError stands for a malformed reply.
        """
        expired = threading.Event()

        def expire() -> None:  # a timeout of the socket itself starts again with each byte
            expired.set()
            self._abort()

        timer = threading.Timer(self.timeout_s, expire)
        timer.start()
        try:
            yield
        except (OSError, EOFError, ValueError, http.client.HTTPException) as error:
            self.close()
            raise ClientError(*self._explain(TimeoutError() if expired.is_set() else error)) from error
        finally:
            timer.cancel()

    def _explain(self, error: Exception) -> tuple[str, str]:
        """Return what went wrong, and the next step."""
        where, check_log = format_address(*self.address), "see the service's log, and whether it expects TLS (https://)"
        match error:
            case ConnectionRefusedError():
                return f"nothing listens at {where}", "start the service, or correct the address"
            case socket.gaierror():
                return f"unknown host {self.address[0]!r}", "correct the address"
            case TimeoutError():
                return f"{where} did not answer within {self.timeout_s:g} s", "check the port, or allow more time"
            case ssl.SSLCertVerificationError():
                hint = "name the authority that signed it (--cacert), or renew it"
                return f"{where}: its certificate is not trusted: {error.verify_message}", hint
            case ConnectionError() | EOFError() | http.client.IncompleteRead():
                return f"{where} hung up before its reply was complete", check_log
        said = " ".join(str(error).split())[:200]
        return f"{where} gave no reply of the contract for {self.transport}: {said}", f"check the port; {check_log}"


def make_request(operation: str, fields: Fields) -> AnyMessage:
    """Return fields as the request of an operation. Raises ClientError."""
    try:
        return OPERATIONS[operation].request(**fields)
    except (TypeError, ValueError) as error:
        raise ClientError(f"{operation} can't have these fields: {error}", "correct the fields") from None


def has_ended(connection: socket.socket) -> bool:
    """Return whether there is something to read on a connection where nothing is due: its end."""
    return bool(select.select([connection], [], [], 0)[0])
