# A Kubernetes cluster on this machine, and what runs in it. docs/cluster.md says what it takes and where it leaves things.

CLUSTER_TOOLS := .tools/bin/kind .tools/bin/helm .tools/bin/kubectl

##@ Kubernetes
.PHONY: docker-up docker-down cluster-up cluster-load deploy grafana cluster-down cluster-check \
  load-rest load-grpc load-socket cluster-preflight cluster-answers images node-image
docker-up: ## start a Docker engine if none answers (as root, on Debian)
docker-down: ## dev: end the engine that docker-up has started
docker-up docker-down:
	@scripts/cluster/engine $(@:docker-%=%)

cluster-up: cluster-preflight ## a kind cluster with our services, Prometheus and Grafana
	@echo 'cluster-up: 1 of 4: kind, helm and kubectl (2 minutes, if Go has nothing cached)'
	+@$(MAKE) --silent --no-print-directory $(CLUSTER_TOOLS)
	@echo 'cluster-up: 2 of 4: the images of what runs in the cluster, and of its nodes (10 minutes the first time)'
	+@$(MAKE) --silent --no-print-directory --jobs=2 PARALLEL=yes images node-image
	@echo 'cluster-up: 3 of 4: the nodes (half a minute)'
	@scripts/cluster/cluster up
	@echo 'cluster-up: 4 of 4: images and charts onto the nodes (half a minute)'
	@scripts/cluster/cluster load
	@scripts/cluster/deploy deploy

# Without a cluster, nothing is built for it.
cluster-load: cluster-answers images ## dev: build the images that have changed and load them onto the nodes
	@scripts/cluster/cluster load

deploy: cluster-load ## install or upgrade the charts, with REPLICAS and WORKERS of each service
	@REPLICAS=$(REPLICAS) WORKERS=$(WORKERS) scripts/cluster/deploy $@

# What is given is checked by wirebench, in words.
given = $(foreach name,$(2),$(if $($(name)),$(1)$(shell tr A-Z a-z <<<$(name))$(3)'$($(name))'))
LOAD = $(BIN)/wirebench load $(@:load-%=%) $(call given,--,DRIVER TARGET CONCURRENCY DURATION RATE OPERATION, ) \
  $(call given,--set factors.,PAYLOAD PLACEMENT REPLICAS WORKERS,=) $(ARGS)

# $(call driver-here,NAME): what a load from this machine is sent by. Load pods have it in their image.
driver-here = $(if $(filter local,$(TARGET)),$(addprefix .tools/bin/,$(filter k6 ghz,$(or $(DRIVER),$(1)))))

load-rest: $(call driver-here,k6) ## load the deployed REST service by k6, live in Prometheus
load-grpc: $(call driver-here,ghz) ## load the gRPC service by ghz
load-socket: ## load the socket service by wireload
load-rest load-grpc load-socket: setup-quick
	@$(LOAD)

grafana: ## print where Prometheus and Grafana are, or how to look at the dashboards without it
	@scripts/cluster/deploy $@

cluster-down: ## remove the cluster; images and tools stay, for the next
cluster-preflight cluster-answers cluster-down:
	@scripts/cluster/cluster $(@:cluster-%=%)

cluster-check: ## dev: where a registry can be reached: pin its digests, and test a cluster of published images
	@scripts/cluster/cluster pins
	+@$(MAKE) --no-print-directory cluster-up test-cluster

images: .tools/bin/wireload .tools/bin/truth .tools/bin/k6 .tools/bin/ghz .tools/bin/toxiproxy-server .tools/bin/prometheus .tools/bin/wirebench-go
	@scripts/cluster/images build/cluster/images.yaml services services-go load prometheus grafana

# It waits for downloads and runs on one core in places: other images are built beside it.
node-image: .tools/bin/kubectl
	@scripts/cluster/cluster node_image
