"""A role of PostgreSQL that may read the index and nothing else: for Grafana and for SQL clients."""

from __future__ import annotations

import psycopg
from psycopg import sql

from wirebench.errors import UsageError
from wirebench.results.index import url as urls
from wirebench.results.index.database import Database, IndexUnusableError

READER = "reader"
#: Limits of a reader's query, on the server that runs are also written to.
_STATEMENT_TIMEOUT = "30s"
_CONNECTIONS_MAX = 20


def grant_reading(url: str, password: str) -> None:
    """Make the tables of the index, and the role `reader` with this password; what is there already is brought to it.

    The URL is that of a role that may make others. Raises UsageError if it isn't PostgreSQL's, IndexUnusableError.
    """
    parsed = urls.parse(url)
    if parsed.drivername == "sqlite":
        raise UsageError("only PostgreSQL has roles", "who may read the file may read the index")
    Database(url).close()
    try:
        with psycopg.connect(parsed.set(drivername="postgresql").render_as_string(hide_password=False)) as connection:
            _grant_reading(connection, password)
    except psycopg.Error as error:
        cause = str(error).strip().partition("\n")[0]
        raise IndexUnusableError(
            f"{urls.without_password(url)} gets no reader: {cause}", "is its role a superuser?"
        ) from None


def _grant_reading(connection: psycopg.Connection, password: str) -> None:
    """Grant the role the tables and views, those of later versions too, and revoke the defaults of all roles."""
    parts = {
        "role": sql.Identifier(READER),
        "database": sql.Identifier(connection.info.dbname),
        "most": _CONNECTIONS_MAX,
        "timeout": _STATEMENT_TIMEOUT,
        # Not the password itself: the server might write it to its log.
        "verifier": connection.pgconn.encrypt_password(password.encode(), READER.encode(), b"scram-sha-256").decode(),
    }
    exists = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [READER]).rowcount
    for statement in (
        *([] if exists else ["CREATE ROLE {role}"]),
        "ALTER ROLE {role} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT {most}",
        "ALTER ROLE {role} LOGIN PASSWORD {verifier}",
        "ALTER ROLE {role} SET default_transaction_read_only = on",
        "ALTER ROLE {role} SET statement_timeout = {timeout}",
        "REVOKE ALL ON DATABASE {database} FROM PUBLIC",
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
        "GRANT CONNECT ON DATABASE {database} TO {role}",
        "GRANT USAGE ON SCHEMA public TO {role}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {role}",
    ):
        connection.execute(sql.SQL(statement).format(**parts))
