"""The application that all transports share."""

from __future__ import annotations

import dataclasses

from services.domain.users import Users, UserStore


@dataclasses.dataclass(frozen=True, slots=True)
class Application:
    """Everything that operations act on."""

    users: Users
    #: Whether operations may block, so that an event loop has to hand them to a thread.
    blocking: bool

    @classmethod
    def over(cls, store: UserStore) -> Application:
        """Build the application over a store."""
        return cls(users=Users(store), blocking=store.blocking)
