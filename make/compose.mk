# The services, PostgreSQL, Prometheus and Grafana without Kubernetes: compose.yaml. docs/services.md says what it takes.

##@ Services
.PHONY: compose-up compose-answers compose-down compose-client test-compose
compose-up: compose-answers .tools/bin/prometheus ## services, PostgreSQL, Prometheus and Grafana as containers
compose-down: ## remove them, with all that they have stored
compose-up compose-down compose-answers:
	@WORKERS=$(WORKERS) scripts/compose $(@:compose-%=%)

compose-client: ## a client in a container: ARGS='grpc users.get id=1000001', ARGS=grpc
	@scripts/compose client $(ARGS)

test-compose: setup-dev ## dev: compose.yaml with a real engine, on ports of its own; skipped where there is none
	@$(BIN)/python -m pytest tests/compose $(ARGS)
