"""Whether the PostgreSQL server is there: asked by readiness, beside the workers that use it."""

from __future__ import annotations

import logging
import threading

import psycopg

from services.domain.stores import postgres_schema
from services.domain.stores.postgres_connection import connect
from services.domain.stores.settings import StoreSettings

log = logging.getLogger(__name__)

#: How long to wait for another thread that asks, in seconds.
_PATIENCE_S = 1.0


class Probe:
    """Tells whether the server answers, and has our tables, on a connection of its own; safe from any thread.

    The tables were there when the service started. If they aren't now, an empty database has come into the place of
    that one, as where a pod of PostgreSQL's is replaced: they are made and filled anew, by one of all who find that.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._connection: psycopg.Connection | None = None
        self._lock = threading.Lock()
        self._is_foreign = False

    def answers(self) -> bool:
        """Ask the server; a thread that finds another one waiting for its answer doesn't wait too."""
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return False
        try:
            return self._asked()
        except psycopg.Error:
            self._hang_up()
            return False
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection, unless somebody still waits for an answer: it goes with the process then."""
        if self._lock.acquire(timeout=_PATIENCE_S):
            self._hang_up()
            self._lock.release()

    def _asked(self) -> bool:
        if self._connection is None:
            self._connection = connect(self._settings)
        try:
            self._connection.execute("SELECT FROM wirebench_schema")
        except psycopg.errors.UndefinedTable:
            return self._refilled()
        self._is_foreign = False
        return True

    def _refilled(self) -> bool:
        """Make and fill the tables, all or nothing; a database with others of the same names is left as it is."""
        try:
            applied = postgres_schema.migrate(self._settings)
        except psycopg.ProgrammingError as error:
            if not self._is_foreign:
                reason = str(error).partition("\n")[0]
                log.warning("the database has lost wirebench's tables, and can't get new ones: %s", reason)
            self._is_foreign = True
            return False
        if applied:
            log.warning("the database was empty; made its tables anew: %s", ", ".join(applied))
        return True

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
