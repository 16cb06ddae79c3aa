"""Users in a dictionary: each process has its own, which ends with it. The ledger is computed."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from wirebench_services.application import seed
from wirebench_services.application.errors import OperationError, make_users_exist
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import User


class MemoryStore:
    """A dictionary of users and the sorted list of their ids. A look-up takes no lock; everything else does.

    Every call is atomic; those of other stores may raise OperationError.
    """

    def __init__(self, users: Iterable[User] = ()) -> None:
        self._users = {user.id: user for user in users}
        self._ids = sorted(self._users)
        self._balances = seed.balances()
        self._lock = threading.Lock()

    def get_user(self, user_id: int) -> User:
        """Return a user. Raises OperationError."""
        user = self._users.get(user_id)
        if user is None:
            raise OperationError("User not found.", "not_found")
        return user

    def add_user(self, user: User) -> User:
        """Add a user and return it. Raises OperationError."""
        self.add_users([user])
        return user

    def add_users(self, users: list[User]) -> list[User]:
        """Add all users, whose ids differ, and return them, or add none. Raises OperationError."""
        with self._lock:
            taken = [user.id for user in users if user.id in self._users]
            if taken:
                raise make_users_exist(taken)
            for user in users:
                self._users[user.id] = user
                bisect.insort(self._ids, user.id)  # mostly the greatest id: an append
        return users

    def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User:
        """Replace the given fields of a user and return it. Raises OperationError."""
        with self._lock:
            changed = self.get_user(user_id)._replace(**changes)
            self._users[user_id] = changed
            return changed

    def remove_user(self, user_id: int) -> User:
        """Remove a user and return it as it was. Raises OperationError."""
        with self._lock:
            user = self.get_user(user_id)
            del self._users[user_id]
            del self._ids[bisect.bisect_left(self._ids, user_id)]
            return user

    def list_users(self, after_id: int, limit: int) -> list[User]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        with self._lock:
            first = bisect.bisect_right(self._ids, after_id)
            ids = self._ids[first : first + limit] if limit else self._ids[first:]
            return [self._users[user_id] for user_id in ids]

    def get_balance(self, account_id: int) -> Balance:
        """Return an account's balance. Raises OperationError."""
        if account_id > seed.ACCOUNTS:
            raise OperationError("Account not found.", "not_found")
        return self._balances[account_id - 1]

    def list_transactions(self, since_s: int, after_id: int, limit: int) -> list[Transaction]:
        """Return the first `limit` transactions after this id of the Unix second `since_s`, by time and id."""
        # Computed at each call, as a database builds rows: kept, they would take 40 MB in every worker.
        first = bisect.bisect_right(seed.TRANSACTION_IDS, (since_s, after_id), key=seed.time_and_id)
        return list(map(seed.transaction, seed.TRANSACTION_IDS[first : first + limit]))

    def close(self) -> None:
        """Do nothing: it holds neither connections nor files."""
