"""What readiness goes by with PostgreSQL as the store, and what is done where its tables are gone (decision 24)."""

from __future__ import annotations

import logging
import threading

import psycopg

from services.domain.stores import postgres_schema
from services.domain.stores.postgres_probe import Probe, State
from services.domain.stores.postgres_schema import SchemaError
from services.domain.stores.settings import FILL, StoreSettings

log = logging.getLogger(__name__)


class Watch:
    """Tells whether the database is there with its tables; safe from any thread.

    They were there when the service started. Where they aren't now, it says so, and how to make them; told to fill an
    empty database, it does that instead, beside whoever asks: nobody waits for it, and of all services that find the
    database empty, one fills it.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._probe = Probe(settings)
        self._filling = threading.Lock()
        self._said = ""

    def is_there(self) -> bool:
        """Ask the database, and see to it if its tables are gone."""
        state = self._probe.state()
        if state is State.THERE:
            self._said = ""
        elif state is State.EMPTY and self._settings.when_empty == FILL:
            self._begin_to_fill()
        elif state is State.EMPTY:
            self._say("the database has lost wirebench's tables; run: wirebench-store migrate")
        return state is State.THERE

    def close(self) -> None:
        """Close the connection; what is being filled is left to the server, which undoes it if we end before."""
        self._probe.close()

    def _begin_to_fill(self) -> None:
        if self._filling.acquire(blocking=False):
            threading.Thread(target=self._fill, name="fill", daemon=True).start()

    def _fill(self) -> None:
        """Make and fill the tables, all or nothing; a database with others of the same names is left as it is."""
        try:
            applied = postgres_schema.migrate(self._settings)
        except (psycopg.ProgrammingError, SchemaError) as error:
            reason = str(error).partition("\n")[0]
            self._say(f"the database has lost wirebench's tables, and can't get new ones: {reason}")
        except psycopg.Error as error:
            log.info("the database went while its tables were made: %s", str(error).partition("\n")[0])
        else:
            if applied:
                log.warning("the database was empty; made its tables anew: %s", ", ".join(applied))
        finally:
            self._filling.release()

    def _say(self, problem: str) -> None:
        """Log it once, until the tables are there again."""
        if problem != self._said:
            self._said = problem
            log.warning("%s", problem)
