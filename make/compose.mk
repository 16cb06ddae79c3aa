# The services, PostgreSQL, Prometheus and Grafana without Kubernetes: compose.yaml. docs/compose.md says what it takes.

##@ Services
CPUS ?= 1 ## dev: cores that each service of compose-up may use
REST_PORT ?= 5000 ## dev: ports of 127.0.0.1 that compose-up takes: for REST
REST_ADMIN_PORT ?= 6000 ## dev: for its health and metrics
GRPC_PORT ?= 50051 ## dev: for gRPC
GRPC_ADMIN_PORT ?= 51051 ## dev: for its health and metrics
SOCKET_PORT ?= 9000 ## dev: for the socket service
SOCKET_ADMIN_PORT ?= 10000 ## dev: for its health and metrics
POSTGRES_PORT ?= 5432 ## dev: for PostgreSQL
PROMETHEUS_PORT ?= 9090 ## dev: for Prometheus
GRAFANA_PORT ?= 3000 ## dev: for Grafana

COMPOSE_VARIABLES := WORKERS CPUS REST_PORT REST_ADMIN_PORT GRPC_PORT GRPC_ADMIN_PORT SOCKET_PORT SOCKET_ADMIN_PORT \
  POSTGRES_PORT PROMETHEUS_PORT GRAFANA_PORT
COMPOSE = $(foreach name,$(COMPOSE_VARIABLES),$(name)='$($(name))') scripts/compose

.PHONY: compose-up compose-down compose-client test-compose
compose-up: .tools/bin/prometheus build/locks/services.txt ## services, PostgreSQL, Prometheus and Grafana as containers
	@$(COMPOSE) up

compose-client: build/locks/client.txt ## a client in a container: ARGS='grpc users.get id=1000001', ARGS=grpc
	@$(COMPOSE) client $(ARGS)

test-compose: setup-dev ## dev: compose.yaml with a real engine, on ports of its own; skipped where there is none
	@$(BIN)/python -m pytest tests/compose $(ARGS)

compose-down: ## remove them, with all that they have stored
	@$(COMPOSE) down
