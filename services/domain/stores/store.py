"""What a store is: users that change, and a ledger that doesn't."""

from __future__ import annotations

from typing import Protocol

from services.domain.ledger import LedgerStore
from services.domain.users import UserStore


class Store(UserStore, LedgerStore, Protocol):
    """Where all data of the application are kept."""
