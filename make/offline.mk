# What a node image holds of Go, where no registry can be reached: docs/cluster-offline.md.

KUBERNETES_VERSION = $(shell sed -nE 's,^(require )?[[:space:]]*k8s.io/kubernetes (v[0-9.]+)$$,\2,p' images/offline/kubernetes/go.mod)
# Without them its programs call themselves v0.0.0-master, which kubeadm rejects.
KUBERNETES_FLAGS = $(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
  -X $(package).gitVersion=$(KUBERNETES_VERSION) \
  -X $(package).gitMajor=$(subst v,,$(word 1,$(subst ., ,$(KUBERNETES_VERSION)))) \
  -X $(package).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) \
  -X $(package).gitTreeState=clean)

.PHONY: node-programs
node-programs: $(addprefix .tools/node/,kubernetes etcd coredns pause)

.tools/node/kubernetes: $(wildcard images/offline/kubernetes/*) | .tools/.prerequisites
	$(call build-go,images/offline/kubernetes,$(SLOW),$(KUBERNETES_FLAGS))

.tools/node/etcd: $(wildcard images/offline/etcd/*) | .tools/.prerequisites
	$(call build-go,images/offline/etcd)

.tools/node/pause: images/offline/pause/main.go | .tools/.prerequisites
	$(call build-go,images/offline/pause,,,main.go)

.tools/node/coredns: make/versions.mk | .tools/.prerequisites
	$(call install-go,github.com/coredns/coredns,$(COREDNS_VERSION),$(SLOW))
