# A Kubernetes cluster on this machine, and what runs in it. docs/cluster.md says what it takes and where it leaves things.

KUBERNETES_VERSION = $(shell sed -nE 's,^(require )?[[:space:]]*k8s.io/kubernetes (v[0-9.]+)$$,\2,p' images/node/kubernetes/go.mod)
# Else all its programs call themselves v0.0.0-master, and kubeadm refuses to work with that.
KUBERNETES_LDFLAGS = -s -w $(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
  -X $(package).gitVersion=$(KUBERNETES_VERSION) \
  -X $(package).gitMajor=$(subst v,,$(word 1,$(subst ., ,$(KUBERNETES_VERSION)))) \
  -X $(package).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) \
  -X $(package).gitTreeState=clean)
GO_BUILD := build -mod=readonly -buildvcs=false -trimpath
GO_INSTALL := install -mod=mod -trimpath
CLUSTER_TOOLS := .tools/bin/kind .tools/bin/helm .tools/bin/kubectl
NODE_PROGRAMS := .tools/node/kubernetes .tools/node/etcd .tools/node/coredns .tools/node/pause

# Whether there is to be a server of results: as it is said, or else as it was when images were last built.
HAS_RESULTS = $(if $(RESULTS),$(filter yes,$(RESULTS)),$(shell grep --silent '^  serve:' build/cluster/images.yaml && echo yes))

##@ Kubernetes
.PHONY: docker-up docker-down cluster-up cluster-load deploy undeploy prometheus grafana results cluster-down cluster-clean \
  load-rest load-grpc load-socket
docker-up: ## start a Docker engine if none answers (as root, on Debian)
	@scripts/cluster/engine up

docker-down: ## end the engine that docker-up has started
	@scripts/cluster/engine down

cluster-up: cluster-preflight $(CLUSTER_TOOLS) images ## three nodes on this machine, with our services, Prometheus and Grafana
	@scripts/cluster/node-image
	@scripts/cluster/cluster up
	@scripts/cluster/cluster load
	@scripts/cluster/deploy up

cluster-load: images ## build the images that have changed and load them onto the nodes
	@scripts/cluster/cluster load

deploy: cluster-load ## install or upgrade the charts, with REPLICAS and WORKERS of each service
	@REPLICAS=$(REPLICAS) WORKERS=$(WORKERS) scripts/cluster/deploy up

# What is given is checked by wirebench, in words.
LOAD = $(BIN)/wirebench load $(@:load-%=%) --concurrency '$(CONCURRENCY)' --duration '$(DURATION)' \
  $(if $(RATE),--rate '$(RATE)') $(if $(REPLICAS),--replicas '$(REPLICAS)') $(if $(WORKERS),--workers '$(WORKERS)') $(ARGS)

load-rest: setup ## load on the deployed REST service, live in Prometheus: RATE, CONCURRENCY, DURATION, REPLICAS, WORKERS
	@$(LOAD)

load-grpc: setup ## the same on gRPC, by ghz (ARGS='--driver k6': by k6)
	@$(LOAD)

load-socket: setup ## the same on the socket service
	@$(LOAD)

undeploy: ## remove the charts and their namespaces from the cluster
	@scripts/cluster/deploy down

prometheus: ## print the address of Prometheus
	@scripts/cluster/deploy $@

grafana: ## print the address of Grafana and who may look, or why it is not there
	@scripts/cluster/deploy $@

results: ## print how to reach the server of results in the cluster (RESULTS=yes puts it there)
	@scripts/cluster/deploy $@

cluster-down: ## remove the cluster; images and tools stay, for the next
	@scripts/cluster/cluster down

cluster-clean: cluster-down ## remove our images from the engine as well
	@scripts/cluster/cluster clean

.PHONY: cluster-preflight images node-programs
cluster-preflight:
	@scripts/cluster/cluster preflight

images: .tools/bin/wireload .tools/bin/truth .tools/bin/k6 .tools/bin/ghz .tools/bin/toxiproxy-server .tools/bin/prometheus .tools/bin/wirebench-go
	$(if $(filter-out yes no,$(RESULTS)),$(error RESULTS=$(RESULTS): yes or no))
	@scripts/cluster/images build/cluster/images.yaml services services-go load postgres prometheus grafana \
	  $(if $(HAS_RESULTS),serve)

# What a node image built from packages holds of Go.
node-programs: $(NODE_PROGRAMS)

.tools/bin/kind: tools.mk | .tools/.prerequisites
	@GOBIN=$(CURDIR)/.tools/bin $(STEP) "kind: building $(KIND_VERSION)" \
	  go $(GO_INSTALL) -ldflags '-s -w' sigs.k8s.io/kind@$(KIND_VERSION)
	@touch $@

.tools/bin/helm: tools.mk | .tools/.prerequisites
	@GOBIN=$(CURDIR)/.tools/bin $(STEP) "helm: building $(HELM_VERSION) (minutes, if Go has nothing cached)" \
	  go $(GO_INSTALL) -ldflags '-s -w -X helm.sh/helm/v4/internal/version.version=$(HELM_VERSION)' \
	  helm.sh/helm/v4/cmd/helm@$(HELM_VERSION)
	@touch $@

.tools/bin/kubectl: images/node/kubernetes/go.mod images/node/kubernetes/go.sum cluster.mk | .tools/.prerequisites
	@$(STEP) "kubectl: building $(KUBERNETES_VERSION) (minutes, if Go has nothing cached)" \
	  go -C $(<D) $(GO_BUILD) -ldflags '$(KUBERNETES_LDFLAGS)' -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kubectl
	@touch $@

.tools/node/kubernetes: $(wildcard images/node/kubernetes/*) cluster.mk | .tools/.prerequisites
	@$(STEP) "node: building Kubernetes $(KUBERNETES_VERSION) (many minutes, if Go has nothing cached)" \
	  go -C images/node/kubernetes $(GO_BUILD) -ldflags '$(KUBERNETES_LDFLAGS)' -o $(CURDIR)/$@ .
	@touch $@

.tools/node/etcd: $(wildcard images/node/etcd/*) | .tools/.prerequisites
	@$(STEP) "node: building etcd" go -C images/node/etcd $(GO_BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ .
	@touch $@

.tools/node/coredns: tools.mk | .tools/.prerequisites
	@GOBIN=$(CURDIR)/$(@D) $(STEP) "node: building CoreDNS $(COREDNS_VERSION) (minutes, if Go has nothing cached)" \
	  go $(GO_INSTALL) -ldflags '-s -w' github.com/coredns/coredns@$(COREDNS_VERSION)
	@touch $@

.tools/node/pause: images/node/pause/main.go | .tools/.prerequisites
	@$(STEP) "node: building pause" go $(GO_BUILD) -ldflags '-s -w' -o $@ $<
	@touch $@
