# The services, PostgreSQL, Prometheus and Grafana without Kubernetes: compose.yaml. docs/compose.md says what it takes.

##@ Compose
CPUS ?= 1 ## cores that each service of compose-up may use
REST_PORT ?= 5000 ## ports of 127.0.0.1 that compose-up takes: for REST
REST_ADMIN_PORT ?= 6000 ## for its health and metrics
GRPC_PORT ?= 50051 ## for gRPC
GRPC_ADMIN_PORT ?= 51051 ## for its health and metrics
SOCKET_PORT ?= 9000 ## for the socket service
SOCKET_ADMIN_PORT ?= 10000 ## for its health and metrics
POSTGRES_PORT ?= 5432 ## for PostgreSQL
PROMETHEUS_PORT ?= 9090 ## for Prometheus
GRAFANA_PORT ?= 3000 ## for Grafana

COMPOSE_VARIABLES := WORKERS CPUS REST_PORT REST_ADMIN_PORT GRPC_PORT GRPC_ADMIN_PORT SOCKET_PORT SOCKET_ADMIN_PORT \
  POSTGRES_PORT PROMETHEUS_PORT GRAFANA_PORT
COMPOSE = $(foreach name,$(COMPOSE_VARIABLES),$(name)='$($(name))') scripts/compose

.PHONY: compose-up compose-down compose-client compose-client-interactive test-compose
compose-up: .tools/bin/prometheus build/locks/services.txt ## the three services, PostgreSQL and Prometheus as containers on this machine
	@$(COMPOSE) up

compose-client: build/locks/serve.txt ## one call on the services of compose-up, or the demo, in a container: ARGS='grpc get 1000001'
	@$(COMPOSE) client $(ARGS)

compose-client-interactive: build/locks/serve.txt ## the client's menu in a container: ARGS='grpc --interactive'
	@$(COMPOSE) client-interactive $(ARGS)

test-compose: setup-dev ## compose.yaml with a real engine, on ports of its own; skipped where there is none
	@$(BIN)/python -m pytest tests/compose $(ARGS)

compose-down: ## remove them, with all that they have stored
	@$(COMPOSE) down
