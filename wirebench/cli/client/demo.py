"""The demo: the life of three users, and nothing left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console

from wirebench.cli.client.show import require, require_timed, show_reply
from wirebench.cli.client.timed import time_call
from wirebench.clients import Client, ClientError
from wirebench.clients.client import Fields
from wirebench.errors import WirebenchError

_PEOPLE: tuple[Fields, ...] = (
    {"name": "Ada Lovelace", "email": "ada@example.com", "tags": ["mathematics", "engines"]},
    {"name": "Grace Hopper", "email": "grace@example.com", "bio": "Wrote the first linker."},
    {"name": "Alan Turing", "email": "alan@example.com"},
)
#: How many gaps between users to look at for free ids.
_ATTEMPTS = 1000


def run_demo(client: Client, console: Console) -> None:
    """Create three users, list, fetch, update and delete, show what is left, and clean up. Raises WirebenchError."""
    ids = _free_ids(client, len(_PEOPLE))
    first, second, third = ids
    before = {"after_id": first - 1, "limit": len(_PEOPLE)}
    with _cleaned_up(client, ids):
        for user_id, person in zip(ids, _PEOPLE, strict=True):
            _step(client, console, f"create user {user_id}", "users.create", {"user": {"id": user_id, **person}})
        _step(client, console, f"list {len(_PEOPLE)} users from id {first} on", "users.list", before)
        _step(client, console, f"get user {second}", "users.get", {"id": second})
        _step(
            client,
            console,
            f"update the email of user {first}",
            "users.update",
            {"id": first, "email": "countess@example.com"},
        )
        _step(client, console, f"delete user {third}", "users.delete", {"id": third})
        _step(client, console, "the final state", "users.list", {**before, "limit": len(_PEOPLE) - 1})
    console.print("\nThe demo's users are deleted again.", highlight=False)


def _free_ids(client: Client, count: int) -> range:
    """Return the first ids in a row that nobody has."""
    first = 1
    for _ in range(_ATTEMPTS):
        users = require(client.call("users.list", {"after_id": first - 1, "limit": 1}))
        if not users or users[0]["id"] >= first + count:
            return range(first, first + count)
        first = users[0]["id"] + 1
    raise WirebenchError(f"no {count} ids in a row are free below {first}", "delete some of these users")


@contextlib.contextmanager
def _cleaned_up(client: Client, ids: range) -> Iterator[None]:
    """Delete the users in the end, also when the demo is interrupted."""
    try:
        yield
    finally:
        with contextlib.suppress(ClientError):
            for user_id in ids:
                client.call("users.delete", {"id": user_id})


def _step(client: Client, console: Console, title: str, operation: str, fields: Fields) -> None:
    console.print(f"\n{title}", style="bold", highlight=False)
    timed = time_call(client, operation, fields)
    require_timed(timed)
    show_reply(console, timed)
