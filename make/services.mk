# The services by hand, each in the foreground.

##@ Services
PORT ?= ## dev: port of run-*, if not 5000, 50051 or 9000
RUNTIME ?= ## dev: what run-* runs on: gunicorn-gthread, uvicorn, aio, threaded; in Go net-http, grpc-go, goroutines
STORE ?= ## dev: where run-* keeps users: memory, postgres

GO_RUNTIME = $(filter net-http grpc-go goroutines,$(RUNTIME))
RUN_SERVICE = $(if $(GO_RUNTIME),.tools/bin/wirebench-go $(@:run-%=%),$(BIN)/wirebench-$(@:run-%=%)) \
  $(if $(PORT),--port '$(PORT)') $(if $(RUNTIME),--runtime '$(RUNTIME)') $(if $(WORKERS),--workers '$(WORKERS)') \
  $(if $(STORE),--store '$(STORE)') $(ARGS)

.PHONY: run-rest run-grpc run-socket
run-rest: ## the REST service in the foreground: PORT, RUNTIME, WORKERS, STORE
run-grpc: ## the gRPC service
run-socket: ## the socket service
run-rest run-grpc run-socket: .venv/.installed $(if $(GO_RUNTIME),.tools/bin/wirebench-go)
	@exec $(RUN_SERVICE)
