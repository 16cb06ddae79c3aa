"""Conformance: the same random requests, and the question whether all services answer them alike."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from wirebench.drivers.clients import Client, ClientError, Reply, connect
from wirebench.drivers.clients.messages import find_operation
from wirebench.errors import WirebenchError
from wirebench.model.application import Input, Operation, load_builtin
from wirebench.model.contract import TRANSPORTS
from wirebench.targets import Endpoint

REQUESTS = 100
#: Ids that conformance creates and deletes again: below the seeded ones and every job's range, and no number that the
#: contract's messages have anyhow.
FIRST_ID = 200_000
#: Every client gets so many ids of its own; few of them are used, so that requests meet what others have done.
ID_SPAN = 1000
_IDS_USED = 12
#: What marks users as ours: left-overs of a killed run are known by it.
_EMAIL_DOMAIN = "@conformance.invalid"
_INT32_MAX = 2**31 - 1
#: How many requests have something wrong in them, and how often a field that may be left out is there.
_WRONG_SHARE = 0.25
_GIVEN_SHARE = 0.5
_TOO_LONG = (65, 201, 255, 501, 10_001)
_TEXTS = (
    "Ada Lovelace",
    "Zoë Ångström",
    "Борис",
    "李小龍",
    "👩‍🚀 Sally",
    "a",
    'quote " and \\',
    "line\nbreak\t",
    "\u0131 İ ß ﬁ",
)
_SHOWN_CHARACTERS = 160

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conformance:
    """How many requests every service got, and a line for each that was not answered alike by all."""

    requests: int
    mismatches: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.mismatches


class _SampleRequest(NamedTuple):
    operation: str
    fields: Fields


def check(clients: Sequence[Client], seed: int, requests: int, first_id: int, *, writes: bool = True) -> Conformance:
    """Send the same requests to all clients and compare code, message and data of their replies.

    Client number n creates users only with the `ID_SPAN` ids from `first_id + n * ID_SPAN` on, and deletes them again,
    so that the services may share a store. Seeded users are read and never changed. Without `writes` no request
    can change anything: where each worker has a store of its own, a write would show to one of them only.
    Raises ClientError, and WirebenchError if there are foreign users in the range.
    """
    subjects = [_Subject(client, first_id + number * ID_SPAN) for number, client in enumerate(clients)]
    _clear(subjects)
    try:
        mismatches = tuple(_compare(subjects, seed, requests, writes=writes))
    except ClientError:
        with contextlib.suppress(WirebenchError):  # a service that fails is the news, not that it can't be cleared
            _clear(subjects)
        raise
    _clear(subjects)
    return Conformance(requests, mismatches)


def check_services(services: Sequence[Endpoint], seed: int) -> Conformance:
    """Compare services at their addresses, each in all its codecs. Raises ClientError."""
    # What one process or one replica keeps for itself, the next one doesn't know: such services are only read.
    writes = all(
        each.store == "postgres" or (each.replicas == 1 and each.workers == 1)
        for each in (endpoint.service for endpoint in services)
    )
    with contextlib.ExitStack() as opened:
        connected = [
            opened.enter_context(connect(each.service.transport, each.address, codec=codec, tls=each.tls))
            for each in services
            for codec in TRANSPORTS[each.service.transport].codecs
        ]
        return check(connected, seed, REQUESTS, FIRST_ID, writes=writes)


class _Subject:
    """A client, with the ids that are its own."""

    def __init__(self, client: Client, base: int) -> None:
        self.base = base
        self.name = client.transport
        self._client = client

    def answer(self, request: _SampleRequest) -> Reply:
        """Carry out a request, and return the reply as any other client would have got it."""
        reply = self._read(request) if request.operation in load_builtin().streams else self._client.call(*request)
        message = re.sub(r"\d+", lambda match: self._neutralise(int(match[0])), reply.message)
        return Reply(reply.code, message, self._make_comparable(request, reply.data))

    def _read(self, request: _SampleRequest) -> Reply:
        """Read a stream to its end, and return its items as the data of one reply."""
        items = self._client.stream(*request)
        data = list(items)
        ended = items.reply or Reply("internal", "the stream has no end")
        return Reply(ended.code, ended.message, data)

    def clear(self) -> None:
        """Delete our users, which is the built-in application's way. Raises WirebenchError if there are others."""
        # Ours are at most as many as the ids that are used: if there is a foreign one, it is among these.
        reply = self._client.call("users.list", {"after_id": self.base - 1, "limit": _IDS_USED + 1})
        users: Any = reply.data or []
        for user in users:
            if not self._owns(user["id"]):
                return
            if not user["email"].endswith(_EMAIL_DOMAIN):
                raise WirebenchError(
                    f"{self.name} has a user with id {user['id']}, which is one that conformance would use",
                    "delete or move that user, or verify against another store",
                )
            self._client.call("users.delete", {"id": user["id"]})

    def _owns(self, user_id: int) -> bool:
        return self.base <= user_id < self.base + ID_SPAN

    def _neutralise(self, number: int) -> str:
        return f"#{number - self.base}" if self._owns(number) else str(number)

    def _make_comparable(self, request: _SampleRequest, data: object) -> object:
        if isinstance(data, dict):
            return {**data, "id": self._neutralise(data["id"])} if "id" in data else data
        if isinstance(data, list):
            users = [{**user, "id": self._neutralise(user["id"])} for user in data]
            # Behind our users come those of others, if the store is shared.
            lists_ours = request.operation == "users.list" and self._owns(request.fields.get("after_id", 0) + 1)
            return [user for user in users if user["id"].startswith("#")] if lists_ours else users
        return data


def _clear(subjects: Sequence[_Subject]) -> None:
    for subject in subjects:
        subject.clear()


def _compare(subjects: Sequence[_Subject], seed: int, requests: int, *, writes: bool) -> Iterator[str]:
    # One generator for each client: equal seeds draw alike, and only the ids follow the client's base.
    scripts = [_generate_requests(random.Random(seed), subject.base, writes=writes) for subject in subjects]  # noqa: S311 - no secrets
    for number in range(1, requests + 1):
        asked = [next(script) for script in scripts]
        replies = [subject.answer(request) for subject, request in zip(subjects, asked, strict=True)]
        if any(reply != replies[0] for reply in replies):
            said = "; ".join(
                f"{subject.name}: {_show(reply)}" for subject, reply in zip(subjects, replies, strict=True)
            )
            yield f"request {number}, {asked[0].operation} {_shorten(repr(asked[0].fields))}: {said}"


def _show(reply: Reply) -> str:
    return _shorten(f"{reply.code} {reply.message!r} {reply.data!r}")


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _generate_requests(draw: random.Random, base: int, *, writes: bool) -> Iterator[_SampleRequest]:
    """Yield requests without end: of every operation, most often of those that create something to work on."""
    operations = {name: each for name, each in load_builtin().operations.items() if writes or not each.writes}
    weights = [
        5 if each.creates and not any(given.of for given in each.inputs.values()) else 2 for each in operations.values()
    ]
    while True:
        ((name, operation),) = draw.choices(list(operations.items()), weights)
        message = find_operation(name, stream=operation.stream).message
        fields = _FieldSampler(draw, base, operation).fill(message)
        if draw.random() < _WRONG_SHARE:
            _spoil(draw, message, fields)
        yield _SampleRequest(name, fields)


@dataclass(frozen=True, slots=True)
class _FieldSampler:
    """Draws fields of a request: by the inputs of the same name, and by their types."""

    draw: random.Random
    base: int
    operation: Operation

    def fill(self, message: Descriptor) -> Fields:
        """Return a message that is valid as far as types tell, but for ids; what may be left out sometimes is."""
        return {field.name: self._draw_value(field) for field in message.fields if self._is_given(field)}

    def _is_given(self, field: FieldDescriptor) -> bool:
        given = self.operation.inputs.get(field.name)
        # A stream without a limit is too many items.
        may_be_absent = field.has_presence or field.is_repeated
        if not may_be_absent or field.message_type or (given and given.stream == "items"):
            return True
        return self.draw.random() < _GIVEN_SHARE

    def _draw_value(self, field: FieldDescriptor) -> Any:  # noqa: ANN401 - any field
        if field.is_repeated:
            return [self._draw_single(field) for _ in range(self.draw.randrange(4))]
        return self._draw_single(field)

    def _draw_single(self, field: FieldDescriptor) -> Any:  # noqa: ANN401, PLR0911 - any field, a line a type
        hint, given = self.operation.conformance.get(field.name), self.operation.inputs.get(field.name)
        if field.message_type:
            return self.fill(field.message_type)
        if hint:
            return self.draw.choice(hint.list or (self.draw.randint(*(hint.range or (0, 0))),))
        if given and (given.seeded or given.fresh or given.created):
            return self._draw_id(given)
        if given and given.range:
            return self.draw.choice((self.draw.randint(*given.range), given.range[1] + 1, 0, -1))
        if field.name == "email":
            return f"user{self.draw.randrange(1000)}{_EMAIL_DOMAIN}"
        if field.type == FieldDescriptor.TYPE_STRING:
            return self.draw.choice(_TEXTS)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self.draw.randbytes(self.draw.choice((1, 16, 100, 4096)))
        return self.draw.choice((1, 3, 10, 128, -1, 1_000_001))

    def _draw_id(self, given: Input) -> int:
        """Return an own id, one that is wrong, or to read one that is seeded."""
        ids = [self.base + self.draw.randrange(_IDS_USED) + given.offset] * 8 + [-1, -_INT32_MAX - 1]
        # A page from 0 on would show what other clients have created in a store that they share.
        ids += [0] if given.count == 1 else []
        if given.seeded and not self.operation.writes:
            seeded = load_builtin().seeded[given.seeded]
            ids += [seeded.first + self.draw.randrange(seeded.count - 10), _INT32_MAX] * 4
        return self.draw.choice(ids)


def _spoil(draw: random.Random, message: Descriptor, fields: Fields) -> None:
    """Make one field too long, too many or empty. Wrong types aren't among them: protobuf can't say them."""
    field = draw.choice(list(message.fields))
    if field.message_type:
        inner: Any = fields[field.name]
        for each in inner if isinstance(inner, list) else [inner]:
            _spoil(draw, field.message_type, each)
    elif field.is_repeated:
        fields[field.name] = draw.choice((["x"] * 51, ["x" * 65]))
    elif field.name == "email":
        fields[field.name] = draw.choice(("", f"{'x' * 254}{_EMAIL_DOMAIN}"))  # none that isn't known as ours
    elif field.type == FieldDescriptor.TYPE_STRING:
        # One over each limit, in characters that are one byte, or two.
        fields[field.name] = draw.choice(("", "\x00", *(letter * size for letter in "xé" for size in _TOO_LONG)))
    elif field.type == FieldDescriptor.TYPE_BYTES:
        fields[field.name] = draw.choice((b"", bytes(65_537)))
