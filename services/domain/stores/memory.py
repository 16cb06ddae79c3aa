"""Users in a dictionary: per process, gone when it ends; and the ledger, which is arithmetic."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Sequence

from services.domain import ledger_seed
from services.domain.errors import AlreadyExists, NotFound
from services.domain.ledger import Balance, Transaction
from services.domain.users import Fields, User


class MemoryStore:
    """A dictionary of users, and the seeded ledger. Reads take no lock: one look-up is atomic; writes take turns."""

    blocking = False

    def __init__(self, users: Iterable[User] = ()) -> None:
        self._users = {user.id: user for user in users}
        self._writing = threading.Lock()

    def get(self, user_id: int) -> User | None:
        """Return the user, or None."""
        return self._users.get(user_id)

    def add(self, users: Sequence[User]) -> None:
        """Add all users or none; raise AlreadyExists, naming the ids that are taken."""
        with self._writing:
            taken = [user.id for user in users if user.id in self._users]
            if taken:
                raise AlreadyExists.users(taken)
            self._users.update((user.id, user) for user in users)

    def change(self, user_id: int, changes: Fields) -> User | None:
        """Replace the given fields of a user and return it, or None if there is no such user."""
        with self._writing:
            user = self._users.get(user_id)
            if user is None:
                return None
            changed = dataclasses.replace(user, **changes)
            self._users[user_id] = changed
            return changed

    def remove(self, user_id: int) -> User | None:
        """Remove the user and return it as it was, or None."""
        with self._writing:
            return self._users.pop(user_id, None)

    def page(self, after_id: int, limit: int) -> list[User]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        with self._writing:
            users = self._users.copy()
        ids = sorted(user_id for user_id in users if user_id > after_id)
        return [users[user_id] for user_id in (ids[:limit] if limit else ids)]

    def balance(self, account_id: int) -> Balance:
        """Return what an account holds. Raises NotFound."""
        if not 0 < account_id <= ledger_seed.ACCOUNTS:
            raise NotFound.account()
        return ledger_seed.balances()[account_id - 1]

    def transactions(self, since_s: int, after_id: int, limit: int) -> list[Transaction]:
        """Return the first `limit` transactions of the Unix second or later with ids over `after_id`."""
        # Made anew at each reading, as a database makes rows: kept, they would be 40 MB in every worker.
        first_id = max(ledger_seed.first_id(since_s), after_id + 1)
        return list(map(ledger_seed.transaction, range(first_id, min(first_id + limit, ledger_seed.TRANSACTIONS + 1))))

    def close(self) -> None:
        """Hold nothing open."""
