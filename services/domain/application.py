"""The application that all transports share."""

from __future__ import annotations

import dataclasses

from services.domain.ledger import Ledger
from services.domain.stores.store import Store
from services.domain.users import Users


@dataclasses.dataclass(frozen=True, slots=True)
class Application:
    """Everything that operations act on."""

    users: Users
    ledger: Ledger
    #: Whether what operations return may have to be awaited.
    asynchronous: bool

    @classmethod
    def over(cls, store: Store) -> Application:
        """Build the application over a store."""
        return cls(users=Users(store), ledger=Ledger(store), asynchronous=store.asynchronous)
