"""The command that makes a PostgreSQL database ready for the services."""
