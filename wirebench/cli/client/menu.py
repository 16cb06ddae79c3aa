"""The interactive menu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from wirebench.cli.client.demo import run_demo
from wirebench.cli.client.show import show_reply
from wirebench.cli.client.timed import time_call
from wirebench.clients import Client
from wirebench.errors import WirebenchError

_OPTIONAL_TEXTS = ("phone", "address", "bio")
_PAGE_USERS = 10


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
            console.print(f"\n{title}\n{numbered}", highlight=False)
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


_EXIT = "exit"
_ACTIONS: dict[str, Callable[[Client, Console], None]] = {
    "create": _create,
    "get": _get,
    "list": _list,
    "update": _update,
    "delete": _delete,
    "demo": run_demo,
}
