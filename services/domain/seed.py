"""The data that every store starts with: the same everywhere, computed rather than shipped."""

from __future__ import annotations

from collections.abc import Iterator

from services.domain.users import User

SEEDED_USERS = 10_000
#: Seeded ids start here, so that people who try the API by hand find the small ids free.
FIRST_SEEDED_ID = 1_000_001


def users() -> Iterator[User]:
    """Yield the seeded users in the order of their ids."""
    for user_id in range(FIRST_SEEDED_ID, FIRST_SEEDED_ID + SEEDED_USERS):
        yield User(id=user_id, name=f"User {user_id}", email=f"user{user_id}@example.com")
