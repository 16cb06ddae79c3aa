"""Conformance: the same random requests, and the question whether all services answer them alike."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from wirebench.clients import Client, ClientError, Reply, connect
from wirebench.drivers.driver import SEEDED_FIRST_ID, SEEDED_USERS
from wirebench.errors import WirebenchError
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import TRANSPORTS
from wirebench.tls import ClientTls

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
_STREAMS = ("ledger.stream_transactions",)
#: 2026-01-01T00:00:00Z, when the ledger's day begins.
_FIRST_TRANSACTION_S = 1_767_225_600
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
        """Whether all were answered alike."""
        return not self.mismatches


class _Request(NamedTuple):
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
    for subject in subjects:
        subject.clear()
    try:
        mismatches = tuple(_compare(subjects, seed, requests, writes=writes))
    except ClientError:
        with contextlib.suppress(WirebenchError):  # a service that fails is the news, not that it can't be cleared
            _clear(subjects)
        raise
    _clear(subjects)
    return Conformance(requests, mismatches)


class Reachable(Protocol):
    """A service, where it is, and what clients need for TLS there."""

    @property
    def service(self) -> ServiceSpec:
        """What it is started as."""

    @property
    def address(self) -> str:
        """Its host and port."""

    @property
    def tls(self) -> ClientTls | None:
        """None is plain text."""


def check_services(services: Sequence[Reachable], seed: int) -> Conformance:
    """Compare services at their addresses, each in all its codecs. Raises ClientError."""
    # What one process or one replica keeps for itself, the next one doesn't know: such services are only read.
    writes = all(
        each.store == "postgres" or (each.replicas == 1 and (each.workers == 1 or each.store == "sqlite"))
        for each in (reachable.service for reachable in services)
    )
    with contextlib.ExitStack() as opened:
        connected = [
            opened.enter_context(
                contextlib.closing(connect(each.service.transport, each.address, codec=codec, tls=each.tls))
            )
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

    def answer(self, request: _Request) -> Reply:
        """Carry out a request, and return the reply as any other client would have got it."""
        reply = self._read(request) if request.operation in _STREAMS else self._client.call(*request)
        message = re.sub(r"\d+", lambda match: self._neutral(int(match[0])), reply.message)
        return Reply(reply.code, message, self._comparable(request, reply.data))

    def _read(self, request: _Request) -> Reply:
        """Read a stream to its end, and return its items as the data of one reply."""
        items = self._client.stream(*request)
        data = list(items)
        ended = items.reply or Reply("internal", "the stream has no end")
        return Reply(ended.code, ended.message, data)

    def clear(self) -> None:
        """Delete our users. Raises WirebenchError if there are others."""
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

    def _neutral(self, number: int) -> str:
        return f"#{number - self.base}" if self._owns(number) else str(number)

    def _comparable(self, request: _Request, data: object) -> object:
        if isinstance(data, dict):
            return {**data, "id": self._neutral(data["id"])} if "id" in data else data
        if isinstance(data, list):
            users = [{**user, "id": self._neutral(user["id"])} for user in data]
            # Behind our users come those of others, if the store is shared.
            return [user for user in users if user["id"].startswith("#")] if self._lists_ours(request) else users
        return data

    def _lists_ours(self, request: _Request) -> bool:
        return request.operation == "users.list" and self._owns(request.fields.get("after_id", 0) + 1)


def _clear(subjects: Sequence[_Subject]) -> None:
    for subject in subjects:
        subject.clear()


def _compare(subjects: Sequence[_Subject], seed: int, requests: int, *, writes: bool) -> Iterator[str]:
    """Yield a line for each request that was answered differently."""
    # One generator for each client: equal seeds draw alike, and only the ids follow the client's base.
    scripts = [_script(random.Random(seed), subject.base, writes=writes) for subject in subjects]  # noqa: S311 - no secrets
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


def _script(draw: random.Random, base: int, *, writes: bool) -> Iterator[_Request]:
    """Yield requests without end."""
    makers: dict[Callable[[random.Random, int], _Request], int] = {
        _get: 4, _list: 2, _balance: 2, _transactions: 2, _echo: 2, _upper: 2,
    }  # fmt: skip
    if writes:
        makers |= {_create: 5, _update: 3, _delete: 2, _create_batch: 2}
    while True:
        (make,) = draw.choices(list(makers), list(makers.values()))
        yield make(draw, base)


def _get(draw: random.Random, base: int) -> _Request:
    return _Request("users.get", {"id": _any_id(draw, base)})


def _list(draw: random.Random, base: int) -> _Request:
    ours = base + draw.randrange(_IDS_USED) - 1
    seeded = SEEDED_FIRST_ID + draw.randrange(SEEDED_USERS - 10)
    after_id = draw.choice((ours, ours, seeded, -1, _INT32_MAX))
    return _Request("users.list", {"after_id": after_id, "limit": draw.choice((1, 3, 5, 10, -1, 1_000_001))})


def _balance(draw: random.Random, _base: int) -> _Request:
    return _Request("ledger.get_balance", {"account_id": draw.choice((1 + draw.randrange(10_000), 10_001, 0, -1))})


def _transactions(draw: random.Random, _base: int) -> _Request:
    """Ask for few transactions, which are several pages of the services' all the same; some requests are wrong."""
    fields = {
        "since": draw.choice((_FIRST_TRANSACTION_S + draw.randrange(90_000), 0, _INT32_MAX, -1)),
        "rate_limit": draw.choice((1_000_000, 100_000, 20_000, 0)),
        "limit": draw.choice((1, 10, 128, 300, 0, 100_001)),
    }
    # All transactions would be too many.
    given = {name: value for name, value in fields.items() if name == "limit" or draw.random() < 0.5}  # noqa: PLR2004
    return _Request("ledger.stream_transactions", given)


def _create(draw: random.Random, base: int) -> _Request:
    return _Request("users.create", {"user": _any_user(draw, base)})


def _create_batch(draw: random.Random, base: int) -> _Request:
    return _Request("users.create_batch", {"users": [_any_user(draw, base) for _ in range(draw.randrange(4))]})


def _update(draw: random.Random, base: int) -> _Request:
    changes = _any_user(draw, base)
    kept = [name for name in changes if name != "id" and draw.random() < 0.5]  # noqa: PLR2004 - as likely as not
    return _Request("users.update", {"id": _own_or_absent_id(draw, base), **{name: changes[name] for name in kept}})


def _delete(draw: random.Random, base: int) -> _Request:
    return _Request("users.delete", {"id": _own_or_absent_id(draw, base)})


def _echo(draw: random.Random, _base: int) -> _Request:
    return _Request("echo.echo", {"payload": draw.randbytes(draw.choice((0, 1, 100, 4096)))})


def _upper(draw: random.Random, _base: int) -> _Request:
    return _Request("echo.upper", {"text": draw.choice(("", "hello", "\x00", *_TEXTS)) * draw.choice((1, 1, 50))})


def _own_or_absent_id(draw: random.Random, base: int) -> int:
    return draw.choice((*[base + draw.randrange(_IDS_USED)] * 8, 0, -1, -_INT32_MAX - 1))


def _any_id(draw: random.Random, base: int) -> int:
    return draw.choice((_own_or_absent_id(draw, base), SEEDED_FIRST_ID + draw.randrange(SEEDED_USERS), _INT32_MAX))


def _any_user(draw: random.Random, base: int) -> Fields:
    """Return a user that is mostly valid: each field may be missing, empty or too long."""
    user: Fields = {
        "id": base + draw.randrange(_IDS_USED),
        "name": draw.choice(_TEXTS),
        "email": f"user{draw.randrange(1000)}{_EMAIL_DOMAIN}",
        "phone": draw.choice(("+44 20 7946 0000", "")),
        "address": draw.choice(_TEXTS),
        "bio": draw.choice(_TEXTS) * 100,
        "tags": [draw.choice(_TEXTS) for _ in range(draw.randrange(4))],
        "avatar": draw.randbytes(draw.choice((0, 16, 4096))),
    }
    for name in ("phone", "address", "bio", "tags", "avatar"):
        if draw.random() < 0.5:  # noqa: PLR2004 - as likely as not
            del user[name]
    if draw.random() < 0.25:  # noqa: PLR2004 - a quarter has something wrong
        name, value = draw.choice(_WRONG)
        user[name] = value
    return user


#: One wrong field each. Wrong types aren't among them: protobuf can't say them.
_WRONG: tuple[tuple[str, object], ...] = (
    ("id", 0),
    ("id", -5),
    ("name", ""),
    ("email", ""),
    ("name", "x" * 201),
    ("email", f"{'x' * 254}{_EMAIL_DOMAIN}"),
    ("phone", "1" * 65),
    ("address", "é" * 501),
    ("tags", ["tag"] * 51),
    ("tags", ["t" * 65]),
    ("avatar", bytes(65_537)),
)
