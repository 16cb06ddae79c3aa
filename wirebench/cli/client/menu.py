"""The interactive menu, and the demo: the life of three users, and nothing left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from wirebench_services.client import Client, ClientError, Fields

from wirebench.cli.client.show import require, show_reply, time_call
from wirebench.errors import WirebenchError

_OPTIONAL_TEXTS = ("phone", "address", "bio")
_PAGE_USERS = 10
_PEOPLE: tuple[Fields, ...] = (
    {"name": "Ada Lovelace", "email": "ada@example.com", "tags": ["mathematics", "engines"]},
    {"name": "Grace Hopper", "email": "grace@example.com", "bio": "Wrote the first linker."},
    {"name": "Alan Turing", "email": "alan@example.com"},
)
#: How many gaps between users to look at for free ids.
_ATTEMPTS = 1000


def read_line(prompt: str) -> str:
    """Return a line without its end. Raises EOFError, and WirebenchError if it isn't text."""
    try:
        line = input(prompt)
        line.encode()  # bytes that were no UTF-8 may have come through as surrogates
    except UnicodeError:
        raise WirebenchError("the input is not valid UTF-8", "check the encoding of the terminal or file") from None
    return line


def run_menu(client: Client, console: Console, title: str) -> None:
    """Ask what to do until the user exits or the input ends. Raises ClientError if the service fails."""
    numbered = "  ".join(f"{number} {name}" for number, name in enumerate((*_ACTIONS, _EXIT), start=1))
    try:
        while True:
            console.print(f"\n{title}\n{numbered}", markup=False, highlight=False)
            choice = _choose()
            if choice == _EXIT:
                return
            _ACTIONS[choice](client, console)
    except EOFError:
        console.print()


def _choose() -> str:
    names = (*_ACTIONS, _EXIT)
    by_answer = {name: name for name in names} | {str(number): name for number, name in enumerate(names, start=1)}
    while (choice := by_answer.get(read_line("choose: ").strip().lower())) is None:
        print(f"write a number from 1 to {len(names)}, or one of {', '.join(names)}")  # noqa: T201 - a dialogue
    return choice


def _create(client: Client, console: Console) -> None:
    user: dict[str, object] = {"id": _ask_id(), "name": _ask("name"), "email": _ask("email"), **_ask_optional()}
    show_reply(console, time_call(client, "users.create", {"user": user}))


def _get(client: Client, console: Console) -> None:
    show_reply(console, time_call(client, "users.get", {"id": _ask_id()}))


def _list(client: Client, console: Console) -> None:
    """Show page after page, as long as there are any and the user wants them."""
    after_id = 0
    while True:
        timed = time_call(client, "users.list", {"limit": _PAGE_USERS, "after_id": after_id})
        show_reply(console, timed)
        users: Any = timed.reply.data or []
        if len(users) < _PAGE_USERS or read_line("more? [y/N]: ").strip().lower() not in ("y", "yes"):
            return
        after_id = users[-1]["id"]


def _update(client: Client, console: Console) -> None:
    user_id = _ask_id()
    print("an empty answer leaves the field as it is")  # noqa: T201
    answers = {name: read_line(f"{name}: ").strip() for name in ("name", "email")}
    changes = {name: answer for name, answer in answers.items() if answer}
    show_reply(console, time_call(client, "users.update", {"id": user_id, **changes, **_ask_optional()}))


def _delete(client: Client, console: Console) -> None:
    show_reply(console, time_call(client, "users.delete", {"id": _ask_id()}))


def _ask(name: str) -> str:
    while not (answer := read_line(f"{name}: ").strip()):
        print(f"{name} is needed")  # noqa: T201
    return answer


def _ask_id() -> int:
    while True:
        answer = _ask("id")
        if answer.isascii() and answer.isdigit() and len(answer) <= len(str(2**31)):
            return int(answer)
        print("write a whole number, such as 7")  # noqa: T201


def _ask_optional() -> dict[str, object]:
    answers = {name: read_line(f"{name} (optional): ").strip() for name in _OPTIONAL_TEXTS}
    tags = [tag.strip() for tag in read_line("tags, with commas between them (optional): ").split(",") if tag.strip()]
    return {name: answer for name, answer in answers.items() if answer} | ({"tags": tags} if tags else {})


def run_demo(client: Client, console: Console) -> None:
    """Create three users, list, fetch, update and delete, show what is left, and clean up. Raises WirebenchError."""
    ids = _find_free_ids(client, len(_PEOPLE))
    first, second, third = ids
    before = {"after_id": first - 1, "limit": len(_PEOPLE)}
    with _delete_users_at_end(client, ids):
        for user_id, person in zip(ids, _PEOPLE, strict=True):
            _run_step(client, console, f"create user {user_id}", "users.create", {"user": {"id": user_id, **person}})
        _run_step(client, console, f"list {len(_PEOPLE)} users from id {first} on", "users.list", before)
        _run_step(client, console, f"get user {second}", "users.get", {"id": second})
        changes = {"id": first, "email": "countess@example.com"}
        _run_step(client, console, f"update the email of user {first}", "users.update", changes)
        _run_step(client, console, f"delete user {third}", "users.delete", {"id": third})
        _run_step(client, console, "the final state", "users.list", {**before, "limit": len(_PEOPLE) - 1})
    console.print("\nThe demo's users are deleted again.", highlight=False)


def _find_free_ids(client: Client, count: int) -> range:
    first = 1
    for _ in range(_ATTEMPTS):
        users = require(client.call("users.list", {"after_id": first - 1, "limit": 1}))
        if not users or users[0]["id"] >= first + count:
            return range(first, first + count)
        first = users[0]["id"] + 1
    raise WirebenchError(f"no {count} ids in a row are free below {first}", "delete some of these users")


@contextlib.contextmanager
def _delete_users_at_end(client: Client, ids: range) -> Iterator[None]:
    try:
        yield
    finally:
        with contextlib.suppress(ClientError):
            for user_id in ids:
                client.call("users.delete", {"id": user_id})


def _run_step(client: Client, console: Console, title: str, operation: str, fields: Fields) -> None:
    console.print(f"\n{title}", style="bold", highlight=False)
    timed = time_call(client, operation, fields)
    require(*timed)
    show_reply(console, timed)


_EXIT = "exit"
_ACTIONS: dict[str, Callable[[Client, Console], None]] = {
    "create": _create,
    "get": _get,
    "list": _list,
    "update": _update,
    "delete": _delete,
    "demo": run_demo,
}
