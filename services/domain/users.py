"""Users: the record, its validation and the operations on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from services.domain.answers import Answer
from services.domain.errors import InvalidArgument
from services.domain.numbers import INT32_MAX, parse_int

BATCH_USERS_MAX = 10_000
LIST_USERS_MAX = 1_000_000
TAGS_MAX = 50
TAG_CHARACTERS_MAX = 64
AVATAR_BYTES_MAX = 65_536
CHARACTERS_MAX = {"name": 200, "email": 254, "phone": 64, "address": 500, "bio": 10_000}

Fields = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    """A stored user; `None` and the empty tuple stand for fields that were never given."""

    id: int
    name: str
    email: str
    phone: str | None = None
    address: str | None = None
    bio: str | None = None
    tags: tuple[str, ...] = ()
    avatar: bytes | None = None


REQUIRED = ("id", "name", "email")
FIELDS = tuple(field.name for field in dataclasses.fields(User))


class UserStore(Protocol):
    """Where users are kept. Every call is atomic, and safe from any thread; all may raise Unavailable."""

    #: Whether all answers are to be awaited, in the loop that asks; else they come at once, in the thread that asks.
    asynchronous: bool

    def get(self, user_id: int) -> Answer[User]:
        """Return the user. Raises NotFound."""

    def add(self, user: User) -> Answer[User]:
        """Add the user and return it. Raises AlreadyExists."""

    def add_all(self, users: Sequence[User]) -> Answer[Sequence[User]]:
        """Add all users, whose ids differ, and return them, or add none. Raises AlreadyExists, with the taken ids."""

    def change(self, user_id: int, changes: Fields) -> Answer[User]:
        """Replace the given fields of a user and return it. Raises NotFound."""

    def remove(self, user_id: int) -> Answer[User]:
        """Remove the user and return it as it was. Raises NotFound."""

    def page(self, after_id: int, limit: int) -> Answer[Sequence[User]]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""

    def close(self) -> None:
        """Let go of what the store holds open."""


class Users:
    """The operations on users; each validates first, so that every transport answers alike.

    What the store answers is the result as it is, so that these neither know nor care whether it has to be awaited.
    """

    def __init__(self, store: UserStore) -> None:
        self._store = store

    def create(self, fields: object) -> Answer[User]:
        """Create one user. Raises InvalidArgument, AlreadyExists."""
        return self._store.add(parse_user(fields))

    def create_batch(self, batch: object) -> Answer[Sequence[User]]:
        """Create all users or none. Raises InvalidArgument, AlreadyExists."""
        if not isinstance(batch, Sequence) or isinstance(batch, str | bytes):
            raise InvalidArgument("Field 'users' must be a list.")
        if not batch:
            raise InvalidArgument("Missing required fields: users.")
        if len(batch) > BATCH_USERS_MAX:
            raise InvalidArgument(f"Field 'users' must hold at most {BATCH_USERS_MAX} users.")
        users = [_parse_member(position, fields) for position, fields in enumerate(batch, start=1)]
        if len({user.id for user in users}) < len(users):
            raise InvalidArgument("Field 'users' must not hold the same id twice.")
        return self._store.add_all(users)

    def get(self, user_id: object) -> Answer[User]:
        """Return one user. Raises InvalidArgument, NotFound."""
        return self._store.get(parse_id(user_id))

    def update(self, fields: Fields) -> Answer[User]:
        """Change the fields that are given, of the user that `id` names. Raises InvalidArgument, NotFound."""
        user_id = parse_id(0 if fields.get("id") is None else fields["id"])
        return self._store.change(user_id, _parse_changes(fields))

    def delete(self, user_id: object) -> Answer[User]:
        """Remove one user and return it as it was. Raises InvalidArgument, NotFound."""
        return self._store.remove(parse_id(user_id))

    def list(self, limit: object, after_id: object) -> Answer[Sequence[User]]:
        """Return at most `limit` users (0: all) with ids over `after_id`. Raises InvalidArgument."""
        return self._store.page(
            limit=parse_int("limit", limit, 0, LIST_USERS_MAX),
            after_id=parse_int("after_id", after_id, 0, INT32_MAX),
        )


def parse_user(fields: object) -> User:
    """Make a user of untrusted fields. Raises InvalidArgument, naming the field."""
    if not isinstance(fields, Mapping):
        raise InvalidArgument("A user must be an object.")
    # A zero value is a missing field, as in proto3; False is a wrong type, though it equals 0.
    missing = [name for name in REQUIRED if fields.get(name) in (None, 0, "") and fields.get(name) is not False]
    if missing:
        raise InvalidArgument(f"Missing required fields: {', '.join(missing)}.")
    return User(id=parse_id(fields["id"]), **_parse_changes(fields))


def parse_id(value: object) -> int:
    """Check a user's id. Raises InvalidArgument."""
    return parse_int("id", value, 1, INT32_MAX)


def _parse_member(position: int, fields: object) -> User:
    try:
        return parse_user(fields)
    except InvalidArgument as error:
        raise InvalidArgument(f"User {position} of the batch: {error.message}") from None


def _parse_changes(fields: Fields) -> dict[str, Any]:
    unknown = [str(name) for name in fields if name not in FIELDS]
    if unknown:
        raise InvalidArgument(f"Unknown fields: {', '.join(unknown)}.")
    # None and an empty list are fields that were not given, as in the JSON mapping of proto3. Of several bad fields
    # every transport names the same: the first one in the order of the proto.
    changes = {
        name: parse(name, value)
        for name, parse in _PARSERS.items()
        if (value := fields.get(name)) is not None and value != []
    }
    if not changes:
        raise InvalidArgument("No fields to update.")
    return changes


def _parse_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"Field '{name}' must be a string.")
    if not value and name in REQUIRED:
        raise InvalidArgument(f"Field '{name}' must not be empty.")
    if len(value) > CHARACTERS_MAX[name]:
        raise InvalidArgument(f"Field '{name}' must be at most {CHARACTERS_MAX[name]} characters.")
    return _without_nul(name, value)


def _without_nul(name: str, text: str) -> str:
    # PostgreSQL's text holds no such character, and all stores are to be alike.
    if "\0" in text:
        raise InvalidArgument(f"Field '{name}' must not hold the character U+0000.")
    return text


def _parse_tags(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise InvalidArgument(f"Field '{name}' must be a list of strings.")
    if len(value) > TAGS_MAX:
        raise InvalidArgument(f"Field '{name}' must hold at most {TAGS_MAX} tags.")
    if any(len(tag) > TAG_CHARACTERS_MAX for tag in value):
        raise InvalidArgument(f"Field '{name}' must hold tags of at most {TAG_CHARACTERS_MAX} characters.")
    return tuple(_without_nul(name, tag) for tag in value)


def _parse_avatar(name: str, value: object) -> bytes:
    if not isinstance(value, bytes):
        raise InvalidArgument(f"Field '{name}' must be bytes.")
    if len(value) > AVATAR_BYTES_MAX:
        raise InvalidArgument(f"Field '{name}' must be at most {AVATAR_BYTES_MAX} bytes.")
    return value


_PARSERS: dict[str, Callable[[str, object], Any]] = {
    **dict.fromkeys(CHARACTERS_MAX, _parse_text),
    "tags": _parse_tags,
    "avatar": _parse_avatar,
}
