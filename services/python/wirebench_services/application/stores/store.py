"""What a store can do. Every call is atomic and may raise Unavailable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User


class Store(Protocol):
    """A store for threads; safe from any of them."""

    def get_user(self, user_id: int) -> User:
        """Return a user. Raises NotFound."""

    def add_user(self, user: User) -> User:
        """Add a user and return it. Raises AlreadyExists."""

    def add_users(self, users: list[User]) -> list[User]:
        """Add all users, whose ids differ, and return them, or add none. Raises AlreadyExists."""

    def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User:
        """Replace the given fields of a user and return it. Raises NotFound."""

    def remove_user(self, user_id: int) -> User:
        """Remove a user and return it as it was. Raises NotFound."""

    def list_users(self, after_id: int, limit: int) -> list[User]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""

    def get_balance(self, account_id: int) -> Balance:
        """Return an account's balance. Raises NotFound."""

    def list_transactions(self, since_s: int, after_id: int, limit: int) -> Sequence[Transaction]:
        """Return the first `limit` transactions of that Unix second or later with ids over `after_id`, by id."""

    def close(self) -> None:
        """Close connections and files."""


class AsyncStore(Protocol):
    """The same store for an event loop."""

    async def get_user(self, user_id: int) -> User: ...
    async def add_user(self, user: User) -> User: ...
    async def add_users(self, users: list[User]) -> list[User]: ...
    async def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User: ...
    async def remove_user(self, user_id: int) -> User: ...
    async def list_users(self, after_id: int, limit: int) -> list[User]: ...
    async def get_balance(self, account_id: int) -> Balance: ...
    async def list_transactions(self, since_s: int, after_id: int, limit: int) -> Sequence[Transaction]: ...
    async def close(self) -> None: ...
