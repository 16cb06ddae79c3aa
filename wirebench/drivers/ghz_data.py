"""What ghz sends: call data that say the same as k6/lib/operations.js does for k6."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

from wirebench.drivers.driver import ECHO_BYTES, ID_STEP, LIST_USERS, SEEDED_FIRST_ID, SEEDED_USERS, Job
from wirebench.scenario.payload import size

_ITEMS = 1000
_BIO_CHARACTERS = 3000
_AVATAR_BYTES = 4096


def call_data(job: Job, part: int) -> str:
    """Return a job's call data as JSON: ghz goes through an array's items in turn, and fills in templates.

    `part` is which part of the load it is, if it is split: parts create different users.
    """
    operation, payload = job.cell.operation, job.cell.payload
    extras = _profile() if payload == "profile" else {}
    pick = random.Random(job.seed)  # noqa: S311 - load, not a secret
    match operation:
        case "users.get":
            return json.dumps([{"id": _any_id(pick)} for _ in range(_ITEMS)])
        case "users.update":
            ids = (_any_id(pick) for _ in range(_ITEMS))
            return json.dumps([{"id": each, "bio": f"Updated {each}{extras.get('bio', '')}"} for each in ids])
        case "users.list":
            limit = size(operation, payload) or LIST_USERS
            return json.dumps([{"limit": limit, "after_id": _any_id(pick, limit) - 1} for _ in range(_ITEMS)])
        case "users.create":
            # The job's and the part's millions, then ghz's own count of calls, under a million. As text, which proto
            # JSON takes for an id: a template is no JSON number.
            number = f"{job.id_base // ID_STEP + part}{{{{printf `%06d` .RequestNumber}}}}"
            user = {"id": number, "name": f"User {number}", "email": f"user{number}@example.com"}
            return json.dumps({"user": {**user, **extras}})
        case "echo.echo":
            return json.dumps({"payload": _bytes(size(operation, payload) or ECHO_BYTES)})
        case "echo.upper":
            return json.dumps({"text": _text(size(operation, payload) or ECHO_BYTES)})
    message = f"ghz can't send {operation}"  # a plan refuses it
    raise ValueError(message)


def _any_id(pick: random.Random, room: int = 1) -> int:
    """Return an id of those that are there before the load, with so many from it on."""
    return SEEDED_FIRST_ID + pick.randrange(SEEDED_USERS - room + 1)


def _profile() -> dict[str, Any]:
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
