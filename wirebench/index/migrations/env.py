"""What alembic runs: the steps that a database lacks, in the transaction of the connection that it is given."""

from __future__ import annotations

from alembic import context

from wirebench.index.migrations import VERSION_TABLE
from wirebench.index.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
