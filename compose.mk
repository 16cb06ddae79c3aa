# The services, PostgreSQL, Prometheus and Grafana without Kubernetes: compose.yaml. docs/compose.md says what it takes.

##@ Compose
.PHONY: compose-up compose-down test-compose
compose-up: .tools/bin/prometheus ## the three services, PostgreSQL and Prometheus as containers on this machine
	@WORKERS=$(WORKERS) scripts/compose up

test-compose: setup-dev ## compose.yaml with a real engine, on ports of its own; skipped where there is none
	@$(BIN)/python -m pytest tests/compose $(ARGS)

compose-down: ## remove them, with all that they have stored
	@scripts/compose down
