"""Whether the PostgreSQL server is there, and has our tables: looked at only, beside the workers that use them."""

from __future__ import annotations

import enum
import threading

import psycopg

from services.domain.stores.postgres_connection import connect
from services.domain.stores.settings import StoreSettings

#: How long to wait for another thread that asks, in seconds.
_PATIENCE_S = 1.0


class State(enum.Enum):
    """What a probe has found."""

    #: With our tables.
    THERE = enum.auto()
    #: It answers, and our tables are gone: another database is in the place of the one that the service began with.
    EMPTY = enum.auto()
    AWAY = enum.auto()


class Probe:
    """Asks the server on a connection of its own, and changes nothing; safe from any thread."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._connection: psycopg.Connection | None = None
        self._lock = threading.Lock()

    def state(self) -> State:
        """Ask the server; a thread that finds another one waiting for its answer doesn't wait too."""
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return State.AWAY
        try:
            if self._connection is None:
                self._connection = connect(self._settings)
            self._connection.execute("SELECT FROM wirebench_schema")
        except psycopg.errors.UndefinedTable:
            return State.EMPTY
        except psycopg.Error:
            self._hang_up()
            return State.AWAY
        finally:
            self._lock.release()
        return State.THERE

    def close(self) -> None:
        """Close the connection, unless somebody still waits for an answer: it goes with the process then."""
        if self._lock.acquire(timeout=_PATIENCE_S):
            self._hang_up()
            self._lock.release()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
