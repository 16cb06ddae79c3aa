"""Conformance: the same random requests, and the question whether all services answer them alike."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from wirebench_services.client import OPERATIONS, Client, ClientError, Fields, Reply

from wirebench.errors import WirebenchError, pluralise
from wirebench.measure.client import connect
from wirebench.model.application import Operation, load_builtin
from wirebench.model.contract import TRANSPORTS
from wirebench.targets.endpoint import Endpoint

REQUESTS = 100
#: The ids of users that conformance creates and deletes again: below the seeded ones and every job's, and so few that
#: requests meet what others have done.
IDS = range(200_000, 200_012)
#: What marks users as ours: left-overs of a killed run are known by it.
EMAIL_DOMAIN = "@conformance.invalid"
_WRONG_IDS = (-1, -(2**31))
_SEEDED = range(1_000_001, 1_010_001)
#: How often a request creates a user: more often than other things, so that there is something to work on.
_CREATE_WEIGHT = 2.5
#: How often a value is wrong, a field that may be left out is there, and an id that is read isn't a seeded one.
_WRONG_SHARE, _GIVEN_SHARE, _OWN_SHARE = 0.1, 0.5, 0.6
_TEXTS = ("Ada", "Zoë Ångström", "李小龍", "👩‍🚀 Sally", 'quote " and \\', "line\nbreak\t", "\u0131 İ ß ﬁ")
#: One over each limit, in characters that are one byte, or two. No email is a valid one that isn't known as ours.
_WRONG_TEXTS = ("", "\x00", *(letter * size for letter in "xé" for size in (65, 201, 255, 501, 10_001)))
_EMAILS = tuple(f"user{number}{EMAIL_DOMAIN}" for number in range(20))
_WRONG_EMAILS = ("", f"{'x' * 254}{EMAIL_DOMAIN}")
_NUMBERS = {
    "limit": (1, 3, 10, 128, 300, -1, 1_000_001),
    "rate_limit": (20_000, 100_000, 1_000_000, 0),
    "since": (1_767_225_600, 1_767_268_800, 1_767_315_600, -1),
    "account_id": (1, 7, 5000, 10_000, 10_001, 0, -1),
}
_SHOWN_CHARACTERS, _SHOWN_PROBLEMS = 200, 10

#: The name of an operation, and its fields.
Request = tuple[str, Fields]


@dataclass(frozen=True, slots=True)
class Conformance:
    """How many requests every service got, and a line for each way in which replies were wrong, or not alike."""

    requests: int
    mismatches: tuple[str, ...]

    def require_passed(self, *, of_variants: bool) -> None:
        """Raise WirebenchError if a reply was wrong, or not like others."""
        if self.mismatches:
            raise WirebenchError(
                f"{pluralise(len(self.mismatches), 'problem')} in the replies to {self.requests} requests",
                f"correct the {'variant or the application file' if of_variants else 'service'}",
                "\n".join(self.mismatches[:_SHOWN_PROBLEMS]),
            )


def check_services(services: Sequence[Endpoint], seed: int) -> Conformance:
    """Compare services at their addresses, each in all its codecs. Raises WirebenchError."""
    # What one process or one replica keeps for itself, the next one doesn't know: such services are only read.
    writes = all(
        each.store == "postgres" or (each.replicas == 1 and each.workers == 1)
        for each in (endpoint.service for endpoint in services)
    )
    with contextlib.ExitStack() as opened:
        clients = [
            opened.enter_context(connect(each.service.transport, each.address, codec, each.tls))
            for each in services
            for codec in TRANSPORTS[each.service.transport].codecs
        ]
        return check(clients, seed, REQUESTS, writes=writes)


def check(clients: Sequence[Client], seed: int, count: int, *, writes: bool = True) -> Conformance:
    """Send the same requests to one client after the other, and compare code, message and data of their replies.

    Each deletes the users that it has created, so that services may share a store. Seeded users are read and never
    changed. Without `writes` no request can change anything.
    Raises ClientError, and WirebenchError for a user that isn't ours and has one of our ids.
    """
    requests = draw_requests(seed, count, {client.transport for client in clients}, writes=writes)
    answers = [_ask(client, requests) for client in clients]
    mismatches = []
    for number, ((operation, fields), *replies) in enumerate(zip(requests, *answers, strict=True), start=1):
        if any(reply != replies[0] for reply in replies):
            said = (
                f"{client.transport}: {shorten(repr(reply))}" for client, reply in zip(clients, replies, strict=True)
            )
            mismatches.append(f"request {number}, {operation} {shorten(repr(fields))}: {'; '.join(said)}")
    return Conformance(count, tuple(mismatches))


def _ask(client: Client, requests: Sequence[Request]) -> list[Reply]:
    _delete_users(client)
    try:
        return [_answer(client, *request) for request in requests]
    finally:
        with contextlib.suppress(ClientError):  # the next check deletes them
            _delete_users(client)


def _answer(client: Client, operation: str, fields: Fields) -> Reply:
    """Return a reply; that of a stream has all its items, and that of a list no users of others."""
    if load_builtin().operations[operation].stream:
        *items, ended = client.stream(operation, fields)
        return Reply(ended.code, ended.message, items)
    reply = client.call(operation, fields)
    if operation != "users.list" or not reply.ok:
        return reply
    known = IDS if fields["after_id"] < IDS[-1] else _SEEDED
    return Reply(reply.code, reply.message, [user for user in reply.data if user["id"] in known])


def _delete_users(client: Client) -> None:
    reply = client.call("users.list", {"after_id": IDS[0] - 1, "limit": len(IDS)})
    for user in reply.data or ():
        if user["id"] not in IDS:
            return
        if not user["email"].endswith(EMAIL_DOMAIN):
            raise WirebenchError(
                f"{client.transport} has a user with id {user['id']}, which is one that conformance would use",
                "delete or move that user, or verify against another store",
            )
        client.call("users.delete", {"id": user["id"]})


def shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def draw_requests(seed: int, count: int, transports: Collection[str], *, writes: bool) -> list[Request]:
    """Return requests of all operations that the transports have, most of them valid."""
    draw = random.Random(seed)  # noqa: S311 - no secrets
    operations = {
        name: each
        for name, each in load_builtin().operations.items()
        if (writes or not each.writes) and all(map(each.find_request, transports))
    }
    weights = [_CREATE_WEIGHT if name == "users.create" else 1 for name in operations]
    names = draw.choices(list(operations), weights, k=count)
    return [(name, _draw_fields(draw, OPERATIONS[name].request.DESCRIPTOR, operations[name])) for name in names]


def _draw_fields(draw: random.Random, message: Descriptor, operation: Operation) -> Fields:
    fields = {}
    for field in message.fields:
        may_be_absent = field.has_presence or field.is_repeated
        # A stream without a limit is too many items.
        if not may_be_absent or field.message_type or field.name == "limit" or draw.random() < _GIVEN_SHARE:
            values = [_draw_value(draw, field, operation) for _ in range(draw.randrange(4) if field.is_repeated else 1)]
            fields[field.name] = values if field.is_repeated else values[0]
    return fields


def _draw_value(draw: random.Random, field: FieldDescriptor, operation: Operation) -> Any:  # noqa: ANN401 - any field
    """Return a value by name and type. Values of wrong types aren't among them: protobuf can't say them."""
    is_wrong = draw.random() < _WRONG_SHARE
    if field.message_type:
        return _draw_fields(draw, field.message_type, operation)
    if field.name in _NUMBERS:
        return draw.choice(_NUMBERS[field.name])
    if field.name == "email":
        return draw.choice(_WRONG_EMAILS if is_wrong else _EMAILS)
    if field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice(_WRONG_TEXTS if is_wrong else _TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes(draw.choice((0, 65_537))) if is_wrong else draw.randbytes(draw.choice((1, 100, 4096)))
    return draw.choice(_WRONG_IDS if is_wrong else IDS if operation.writes or draw.random() < _OWN_SHARE else _SEEDED)
