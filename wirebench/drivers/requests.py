"""What operations send, for tools that are told it beforehand: the same as k6/lib/operations.js says for k6.

A message is the JSON form of the contract's request; REST spreads it over method, path and body.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wirebench.drivers.driver import ECHO_BYTES, LIST_USERS, SEEDED_ACCOUNTS, SEEDED_FIRST_ID, SEEDED_USERS, Job
from wirebench.scenario.payload import size

Message = dict[str, Any]

RPCS = {
    "users.get": "wirebench.v1.UserService/GetUser",
    "users.create": "wirebench.v1.UserService/CreateUser",
    "users.update": "wirebench.v1.UserService/UpdateUser",
    "users.list": "wirebench.v1.UserService/ListUsers",
    "ledger.get_balance": "wirebench.v1.LedgerService/GetBalance",
    "echo.echo": "wirebench.v1.EchoService/Echo",
    "echo.upper": "wirebench.v1.EchoService/Upper",
}

#: How many messages there are to choose from, where they differ.
_MESSAGES = 1000
_BIO_CHARACTERS = 3000
_AVATAR_BYTES = 4096


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A message as REST has it; the body is JSON."""

    method: str
    path: str
    body: str | None = None


def messages(job: Job) -> list[Message]:
    """Return what a job's operation sends, to choose from; one message where all are alike.

    Raises ValueError for an operation whose messages depend on what was sent before.
    """
    operation, payload = job.cell.operation, job.cell.payload
    pick = random.Random(job.seed)  # noqa: S311 - load, not a secret
    match operation:
        case "users.get":
            return [{"id": _any_id(pick)} for _ in range(_MESSAGES)]
        case "ledger.get_balance":
            return [{"account_id": pick.randint(1, SEEDED_ACCOUNTS)} for _ in range(_MESSAGES)]
        case "users.update":
            bio = _profile()["bio"] if payload == "profile" else ""
            ids = (_any_id(pick) for _ in range(_MESSAGES))
            return [{"id": each, "bio": f"Updated {each}{bio}"} for each in ids]
        case "users.list":
            limit = size(operation, payload) or LIST_USERS
            return [{"limit": limit, "after_id": _any_id(pick, limit) - 1} for _ in range(_MESSAGES)]
        case "echo.echo":
            return [{"payload": _bytes(size(operation, payload) or ECHO_BYTES)}]
        case "echo.upper":
            return [{"text": _text(size(operation, payload) or ECHO_BYTES)}]
    message = f"{operation} can't be given beforehand"  # a plan refuses it
    raise ValueError(message)


def new_user(job: Job, number: int | str) -> Message:
    """Return the message that creates the user of this number, which may be a template."""
    user = {"id": number, "name": f"User {number}", "email": f"user{number}@example.com"}
    return {"user": {**user, **(_profile() if job.cell.payload == "profile" else {})}}


def as_rest(operation: str, message: Mapping[str, Any]) -> RestRequest:
    """Return a message as REST has it. Raises KeyError for an operation that no driver sends so."""
    match operation:
        case "users.get":
            return RestRequest("GET", f"/api/users/{message['id']}")
        case "ledger.get_balance":
            return RestRequest("GET", f"/accounts/{message['account_id']}/balance")
        case "users.list":
            return RestRequest("GET", f"/api/users?limit={message['limit']}&after_id={message['after_id']}")
        case "users.update":
            return RestRequest("PUT", f"/api/users/{message['id']}", json.dumps({"bio": message["bio"]}))
    path = {"echo.echo": "/echo", "echo.upper": "/upper"}[operation]
    return RestRequest("POST", path, json.dumps(message))


def _any_id(pick: random.Random, room: int = 1) -> int:
    """Return an id of those that are there before the load, with so many from it on."""
    return SEEDED_FIRST_ID + pick.randrange(SEEDED_USERS - room + 1)


def _profile() -> Message:
    return {
        "phone": "+49 30 5550 1234",
        "address": "12 Harbour Street, 20457 Hamburg, Germany",
        "bio": _text(_BIO_CHARACTERS),
        "tags": ["reader", "writer", "sailor", "night-owl", "early-bird", "cyclist"],
        "avatar": _bytes(_AVATAR_BYTES),
    }


def _text(characters: int) -> str:
    return ("wirebench " * (characters // 10 + 1))[:characters]


def _bytes(length: int) -> str:
    return base64.b64encode(bytes(place % 256 for place in range(length))).decode()
