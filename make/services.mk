# The services by hand, each in the foreground.

##@ Run a service
PORT ?= ## of run-*: the port that it listens on, if not its own (5000, 50051, 9000)
RUNTIME ?= ## what it runs on, if not its default: gunicorn-sync, uvicorn, granian, aio, threaded …, or in Go net-http, grpc-go, goroutines
STORE ?= ## where it keeps users: memory, sqlite, sqlite:PATH, postgres

GO_RUNTIME = $(filter net-http grpc-go goroutines,$(RUNTIME))
RUN_SERVICE = $(if $(GO_RUNTIME),.tools/bin/wirebench-go $(@:run-%=%),$(BIN)/wirebench-$(@:run-%=%)) \
  $(if $(PORT),--port '$(PORT)') $(if $(RUNTIME),--runtime '$(RUNTIME)') $(if $(WORKERS),--workers '$(WORKERS)') \
  $(if $(STORE),--store '$(STORE)') $(ARGS)

.PHONY: run-rest run-grpc run-socket
run-rest run-grpc run-socket: .venv/.installed $(if $(GO_RUNTIME),.tools/bin/wirebench-go)

run-rest: ## the REST service in the foreground, until Ctrl-C: PORT, WORKERS, RUNTIME, STORE
	@exec $(RUN_SERVICE)

run-grpc: ## the same of gRPC
	@exec $(RUN_SERVICE)

run-socket: ## the same of the socket service
	@exec $(RUN_SERVICE)
