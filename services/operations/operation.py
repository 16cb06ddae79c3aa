"""What an operation is, and the one way to carry it out."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.message import Message

from services.domain.application import Application
from services.domain.errors import Code, InvalidArgument, OperationError

if TYPE_CHECKING:
    from services.operations.codec import Codec

log = logging.getLogger(__name__)

#: A request's fields by their names in the proto file, as untrusted Python values.
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the contract.

    `call` takes the fields and returns a domain value, which may be an `Answer` that has to be awaited; the four
    conversions carry fields and values between Python and the two encodings.
    """

    name: str
    message: str
    request: type[Message]
    response: type[Message]
    call: Callable[[Application, Fields], Any]
    fields_of_json: Callable[[Fields], Fields]
    fields_of_message: Callable[[Any], Fields]
    json_of_value: Callable[[Any], object]
    fill_message: Callable[[Any, Any], None]


class Outcome(NamedTuple):
    """How an operation ended: `body` is encoded by the codec of the request, and empty on failure."""

    code: Code
    message: str
    body: bytes = b""


def run(
    application: Application,
    operation: Operation,
    codec: Codec,
    body: bytes,
    path_fields: Mapping[str, object] | None = None,
) -> Outcome:
    """Decode, carry out and encode, over a store that isn't asynchronous; every failure is an outcome.

    `path_fields` are fields that the transport took from elsewhere than the body (a path, a query)
    and win over an equal field in the body; a different one is refused.
    """
    try:
        value = operation.call(application, fields_of(operation, codec, body, path_fields))
        return Outcome(Code.OK, operation.message, codec.encode(operation, value))
    except Exception as error:  # noqa: BLE001 - logged where it is none of the contract's
        return failure_of(operation, error)


async def run_async(
    application: Application,
    operation: Operation,
    codec: Codec,
    body: bytes,
    path_fields: Mapping[str, object] | None = None,
) -> Outcome:
    """Do the same over any store, in a loop, which does other things while the store is asked."""
    try:
        value = operation.call(application, fields_of(operation, codec, body, path_fields))
        if inspect.isawaitable(value):
            value = await value
        return Outcome(Code.OK, operation.message, codec.encode(operation, value))
    except Exception as error:  # noqa: BLE001 - as above
        return failure_of(operation, error)


def fields_of(operation: Operation, codec: Codec, body: bytes, path_fields: Mapping[str, object] | None) -> Fields:
    """Return the fields of a request, wherever they were. Raises InvalidArgument."""
    fields = codec.decode(operation, body)
    if path_fields:
        _merge(fields, path_fields)
    return fields


def _merge(fields: Fields, path_fields: Mapping[str, object]) -> None:
    for name, value in path_fields.items():
        # A zero value is a field that was not given: in protobuf it always looks like that.
        if fields.get(name) and fields[name] != value:
            raise InvalidArgument(f"Field '{name}' must be the one of the path.")
        fields[name] = value


def failure_of(operation: Operation, error: Exception) -> Outcome:
    """Return how an operation ends that met this error; what is none of the contract's is logged."""
    if isinstance(error, OperationError):
        return Outcome(error.code, error.message)
    log.error("%s failed", operation.name, exc_info=error)
    return Outcome(Code.INTERNAL, "Internal error.")
