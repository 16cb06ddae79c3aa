"""Users in a dictionary: each process has its own, which ends with it. The ledger is computed."""

from __future__ import annotations

import bisect
import dataclasses
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wirebench_services.application import seed
from wirebench_services.application.errors import AlreadyExists, NotFound
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User


class MemoryStore:
    """A dictionary of users and the sorted list of their ids. A look-up takes no lock; everything else does."""

    def __init__(self, users: Iterable[User] = ()) -> None:
        self._users = {user.id: user for user in users}
        self._ids = sorted(self._users)
        self._lock = threading.Lock()

    def get_user(self, user_id: int) -> User:
        user = self._users.get(user_id)
        if user is None:
            raise NotFound("User not found.")
        return user

    def add_user(self, user: User) -> User:
        self.add_users([user])
        return user

    def add_users(self, users: list[User]) -> list[User]:
        with self._lock:
            taken = [user.id for user in users if user.id in self._users]
            if taken:
                raise AlreadyExists.users(taken)
            for user in users:
                self._users[user.id] = user
                bisect.insort(self._ids, user.id)  # mostly the greatest id: an append
        return users

    def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User:
        with self._lock:
            changed = dataclasses.replace(self.get_user(user_id), **changes)
            self._users[user_id] = changed
            return changed

    def remove_user(self, user_id: int) -> User:
        with self._lock:
            user = self.get_user(user_id)
            del self._users[user_id]
            del self._ids[bisect.bisect_left(self._ids, user_id)]
            return user

    def list_users(self, after_id: int, limit: int) -> list[User]:
        with self._lock:
            first = bisect.bisect_right(self._ids, after_id)
            ids = self._ids[first : first + limit] if limit else self._ids[first:]
            return [self._users[user_id] for user_id in ids]

    def get_balance(self, account_id: int) -> Balance:
        if account_id > seed.ACCOUNTS:
            raise NotFound("Account not found.")
        return seed.balances()[account_id - 1]

    def list_transactions(self, since_s: int, after_id: int, limit: int) -> Sequence[Transaction]:
        # Computed at each call, as a database builds rows: kept, they would take 40 MB in every worker.
        first_id = max(seed.first_id(since_s), after_id + 1)
        return list(map(seed.transaction, range(first_id, min(first_id + limit, seed.TRANSACTIONS + 1))))

    def close(self) -> None:
        """Do nothing: it holds neither connections nor files."""
