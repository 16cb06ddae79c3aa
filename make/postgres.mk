# A PostgreSQL server on this machine, for scenarios with `store: postgres` and for the tests.

##@ Services
STORE_PORT ?= 54320 ## dev: port of 127.0.0.1 that postgres-up takes

.PHONY: postgres-up postgres-down postgres-programs
# For tests, which say so and leave out what needs it where it can't be had.
postgres-programs:
	@scripts/postgres install || true

postgres-up: ## start a PostgreSQL server of our own, with its data in build/postgres
	@STORE_PORT='$(STORE_PORT)' scripts/postgres up

postgres-down: ## end it, and remove what it has stored
	@scripts/postgres down
