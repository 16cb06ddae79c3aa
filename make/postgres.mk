# A PostgreSQL server on this machine, for scenarios with `store: postgres` and for the tests.

##@ Services
.PHONY: postgres-up postgres-down postgres-programs
# For tests, which say so and leave out what needs it where it can't be had.
postgres-programs:
	@scripts/postgres install || true

postgres-up: ## start a PostgreSQL server of our own; its URL is in build/postgres/url
postgres-down: ## end it, and remove what it has stored
postgres-up postgres-down:
	@scripts/postgres $(@:postgres-%=%)
