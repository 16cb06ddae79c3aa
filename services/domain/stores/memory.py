"""Users in a dictionary: per process, gone when it ends; and the ledger, which is arithmetic."""

from __future__ import annotations

import bisect
import dataclasses
import threading
from collections.abc import Iterable, Sequence

from services.domain import ledger_seed
from services.domain.errors import AlreadyExists, NotFound
from services.domain.ledger import Balance, Transaction
from services.domain.users import Fields, User


class MemoryStore:
    """A dictionary of users with their ids in order, and the seeded ledger.

    One look-up is atomic and takes no lock; all else about users takes turns.
    """

    asynchronous = False

    def __init__(self, users: Iterable[User] = ()) -> None:
        self._users = {user.id: user for user in users}
        self._ids = sorted(self._users)
        self._taking_turns = threading.Lock()

    def get(self, user_id: int) -> User:
        """Return the user. Raises NotFound."""
        user = self._users.get(user_id)
        if user is None:
            raise NotFound.user()
        return user

    def add(self, user: User) -> User:
        """Add the user and return it. Raises AlreadyExists."""
        self.add_all((user,))
        return user

    def add_all(self, users: Sequence[User]) -> Sequence[User]:
        """Add all users and return them, or add none. Raises AlreadyExists, with the taken ids."""
        with self._taking_turns:
            taken = [user.id for user in users if user.id in self._users]
            if taken:
                raise AlreadyExists.users(taken)
            self._users.update((user.id, user) for user in users)
            for user in users:
                # New ids are mostly the greatest: this is an append then.
                bisect.insort(self._ids, user.id)
        return users

    def change(self, user_id: int, changes: Fields) -> User:
        """Replace the given fields of a user and return it. Raises NotFound."""
        with self._taking_turns:
            changed = dataclasses.replace(self.get(user_id), **changes)
            self._users[user_id] = changed
            return changed

    def remove(self, user_id: int) -> User:
        """Remove the user and return it as it was. Raises NotFound."""
        with self._taking_turns:
            user = self.get(user_id)
            del self._users[user_id]
            del self._ids[bisect.bisect_left(self._ids, user_id)]
            return user

    def page(self, after_id: int, limit: int) -> list[User]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        with self._taking_turns:
            first = bisect.bisect_right(self._ids, after_id)
            ids = self._ids[first : first + limit] if limit else self._ids[first:]
            return [self._users[user_id] for user_id in ids]

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
