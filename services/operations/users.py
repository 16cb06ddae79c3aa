"""The operations on users."""

from __future__ import annotations

from typing import Any

from wirebench_proto import users_pb2 as pb

from services.domain.users import User
from services.operations.codec import bytes_of_json, json_of_bytes, only
from services.operations.operation import Fields, Operation

_OPTIONAL_TEXTS = ("phone", "address", "bio")


def _user_of_json(fields: Any) -> Any:  # noqa: ANN401 - untrusted; validation names what is wrong with it
    if isinstance(fields, dict) and fields.get("avatar") is not None:
        return {**fields, "avatar": bytes_of_json("avatar", fields["avatar"])}
    return fields


def _users_of_json(fields: Fields) -> Fields:
    users = only(fields, "users").get("users")
    return {"users": [_user_of_json(user) for user in users] if isinstance(users, list) else users or []}


def _user_of_message(message: pb.User) -> Fields:
    fields: Fields = {"id": message.id, "name": message.name, "email": message.email}
    fields.update((name, getattr(message, name)) for name in _OPTIONAL_TEXTS if message.HasField(name))
    if message.tags:
        fields["tags"] = list(message.tags)
    if message.HasField("avatar"):
        fields["avatar"] = message.avatar
    return fields


def _changes_of_message(message: pb.UpdateUserRequest) -> Fields:
    fields: Fields = {field.name: value for field, value in message.ListFields() if field.name != "tags"}
    if message.tags:
        fields["tags"] = list(message.tags)
    return {"id": message.id, **fields}


def _json_of_user(user: User) -> dict[str, object]:
    json: dict[str, object] = {"id": user.id, "name": user.name, "email": user.email}
    if user.phone is not None:
        json["phone"] = user.phone
    if user.address is not None:
        json["address"] = user.address
    if user.bio is not None:
        json["bio"] = user.bio
    if user.tags:
        json["tags"] = user.tags
    if user.avatar is not None:
        json["avatar"] = json_of_bytes(user.avatar)
    return json


def _json_of_users(users: list[User]) -> list[dict[str, object]]:
    return [_json_of_user(user) for user in users]


def _fill_user(response: Any, user: User) -> None:  # noqa: ANN401 - any response whose data is a user
    # Field by field: passing None to the constructor costs more than not naming the field.
    data: pb.User = response.data
    data.id = user.id
    data.name = user.name
    data.email = user.email
    for name in _OPTIONAL_TEXTS:
        value = getattr(user, name)
        if value is not None:
            setattr(data, name, value)
    if user.tags:
        data.tags.extend(user.tags)
    if user.avatar is not None:
        data.avatar = user.avatar


class _Item:
    """Lets `_fill_user` fill a list's next item as it fills a response."""

    __slots__ = ("data",)

    def __init__(self, data: pb.User) -> None:
        self.data = data


def _fill_users(response: Any, users: list[User]) -> None:  # noqa: ANN401
    for user in users:
        _fill_user(_Item(response.data.add()), user)


OPERATIONS = (
    Operation(
        name="users.create",
        message="User created successfully",
        request=pb.CreateUserRequest,
        response=pb.CreateUserResponse,
        call=lambda application, fields: application.users.create(fields["user"]),
        fields_of_json=lambda fields: {"user": _user_of_json(only(fields, "user").get("user") or {})},
        fields_of_message=lambda message: {"user": _user_of_message(message.user)},
        json_of_value=_json_of_user,
        fill_message=_fill_user,
    ),
    Operation(
        name="users.get",
        message="User retrieved successfully",
        request=pb.GetUserRequest,
        response=pb.GetUserResponse,
        call=lambda application, fields: application.users.get(fields.get("id", 0)),
        fields_of_json=lambda fields: only(fields, "id"),
        fields_of_message=lambda message: {"id": message.id},
        json_of_value=_json_of_user,
        fill_message=_fill_user,
    ),
    Operation(
        name="users.update",
        message="User updated successfully",
        request=pb.UpdateUserRequest,
        response=pb.UpdateUserResponse,
        call=lambda application, fields: application.users.update(fields),
        fields_of_json=_user_of_json,
        fields_of_message=_changes_of_message,
        json_of_value=_json_of_user,
        fill_message=_fill_user,
    ),
    Operation(
        name="users.delete",
        message="User deleted successfully",
        request=pb.DeleteUserRequest,
        response=pb.DeleteUserResponse,
        call=lambda application, fields: application.users.delete(fields.get("id", 0)),
        fields_of_json=lambda fields: only(fields, "id"),
        fields_of_message=lambda message: {"id": message.id},
        json_of_value=_json_of_user,
        fill_message=_fill_user,
    ),
    Operation(
        name="users.list",
        message="Users retrieved successfully",
        request=pb.ListUsersRequest,
        response=pb.ListUsersResponse,
        call=lambda application, fields: application.users.list(fields.get("limit", 0), fields.get("after_id", 0)),
        fields_of_json=lambda fields: only(fields, "limit", "after_id"),
        fields_of_message=lambda message: {"limit": message.limit, "after_id": message.after_id},
        json_of_value=_json_of_users,
        fill_message=_fill_users,
    ),
    Operation(
        name="users.create_batch",
        message="Users created successfully",
        request=pb.CreateUserBatchRequest,
        response=pb.CreateUserBatchResponse,
        call=lambda application, fields: application.users.create_batch(fields["users"]),
        fields_of_json=_users_of_json,
        fields_of_message=lambda message: {"users": [_user_of_message(user) for user in message.users]},
        json_of_value=_json_of_users,
        fill_message=_fill_users,
    ),
)
