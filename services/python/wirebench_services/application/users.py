"""Users: the record, and the validation of requests about it.

Each `parse_…` function takes the fields of a request by their names in the proto file, as untrusted values, and
returns the arguments of the store's method. Null and proto3's zero values count as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wirebench_services.application.errors import InvalidArgument

Fields = Mapping[str, Any]

INT32_MAX = 2**31 - 1
BATCH_USERS_MAX = 10_000
LIST_USERS_MAX = 1_000_000
TAGS_MAX = 50
TAG_CHARACTERS_MAX = 64
AVATAR_BYTES_MAX = 65_536
CHARACTERS_MAX = {"name": 200, "email": 254, "phone": 64, "address": 500, "bio": 10_000}


class User(NamedTuple):
    """A stored user; None and the empty tuple are fields that were never set."""

    id: int
    name: str
    email: str
    phone: str | None = None
    address: str | None = None
    bio: str | None = None
    tags: tuple[str, ...] = ()
    avatar: bytes | None = None

    def as_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"id": self.id, "name": self.name, "email": self.email}
        if self.phone is not None:
            fields["phone"] = self.phone
        if self.address is not None:
            fields["address"] = self.address
        if self.bio is not None:
            fields["bio"] = self.bio
        if self.tags:
            fields["tags"] = self.tags
        if self.avatar is not None:
            fields["avatar"] = self.avatar
        return fields


REQUIRED = ("id", "name", "email")
FIELDS = User._fields


def parse_integer(fields: Fields, name: str, least: int = 1, most: int = INT32_MAX, default: int = 0) -> int:
    """Return an integer field, or its default if it is missing, within its range. Raises InvalidArgument."""
    value = default if fields.get(name) is None else fields[name]
    if type(value) is not int:  # bool is a subclass of int
        raise InvalidArgument(f"Field '{name}' must be an integer.")
    if not least <= value <= most:
        raise InvalidArgument(f"Field '{name}' must be between {least} and {most}.")
    return value


def check_names(fields: Fields, *names: str) -> None:
    """Raise InvalidArgument if there are fields of other names."""
    unknown = [str(name) for name in fields if name not in names]
    if unknown:
        raise InvalidArgument(f"Unknown fields: {', '.join(unknown)}.")


def parse_id(fields: Fields) -> int:
    """Return the user id that GetUser and DeleteUser name. Raises InvalidArgument."""
    check_names(fields, "id")
    return parse_integer(fields, "id")


def parse_page(fields: Fields) -> tuple[int, int]:
    """Return the `after_id` and `limit` (0: no limit) of ListUsers. Raises InvalidArgument."""
    check_names(fields, "limit", "after_id")
    limit = parse_integer(fields, "limit", 0, LIST_USERS_MAX)
    return parse_integer(fields, "after_id", 0), limit


def parse_creation(fields: Fields) -> User:
    """Return the user of CreateUser. Raises InvalidArgument, naming the field."""
    check_names(fields, "user")
    return parse_user({} if fields.get("user") is None else fields["user"])


def parse_user(fields: object) -> User:
    """Return the user to create. Raises InvalidArgument, naming the field."""
    if not isinstance(fields, Mapping):
        raise InvalidArgument("A user must be an object.")
    # False equals 0, but it is a wrong type and not a missing value.
    missing = [name for name in REQUIRED if fields.get(name) in (None, 0, "") and fields.get(name) is not False]
    if missing:
        raise InvalidArgument(f"Missing required fields: {', '.join(missing)}.")
    return User(id=parse_integer(fields, "id"), **_parse_changes(fields))


def parse_batch(fields: Fields) -> list[User]:
    """Return the users of CreateUserBatch. Raises InvalidArgument."""
    check_names(fields, "users")
    batch = fields.get("users")
    if batch in (None, []):
        raise InvalidArgument("Missing required fields: users.")
    if not isinstance(batch, list):
        raise InvalidArgument("Field 'users' must be a list.")
    if len(batch) > BATCH_USERS_MAX:
        raise InvalidArgument(f"Field 'users' must hold at most {BATCH_USERS_MAX} users.")
    users = [_parse_member(number, member) for number, member in enumerate(batch, start=1)]
    if len({user.id for user in users}) < len(users):
        raise InvalidArgument("Field 'users' must not hold the same id twice.")
    return users


def parse_update(fields: Fields) -> tuple[int, dict[str, Any]]:
    """Return the id and the changed fields of UpdateUser. Raises InvalidArgument."""
    return parse_integer(fields, "id"), _parse_changes(fields)


def _parse_member(number: int, fields: object) -> User:
    try:
        return parse_user(fields)
    except InvalidArgument as error:
        raise InvalidArgument(f"User {number} of the batch: {error.message}") from None


def _parse_changes(fields: Fields) -> dict[str, Any]:
    check_names(fields, *FIELDS)
    # In the order of the proto, so that every transport names the same one of several invalid fields.
    changes = {
        name: parse(name, value)
        for name, parse in _PARSERS.items()
        if (value := fields.get(name)) is not None and (name, value) != ("tags", [])
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
    return _reject_nul(name, value)


def _reject_nul(name: str, text: str) -> str:
    # PostgreSQL's type text can't hold it, and all stores behave alike.
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
    return tuple(_reject_nul(name, tag) for tag in value)


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
