# What is built of images/offline: Kubernetes' tools, and the Go programs of a node image where no registry can be reached
# (docs/cluster-offline.md).

OFFLINE := images/offline/go.mod images/offline/go.sum
# Without them Kubernetes' programs call themselves v0.0.0-master, which kubeadm rejects.
KUBERNETES_FLAGS = $(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
  -X $(package).gitVersion=$(KUBERNETES_VERSION) \
  -X $(package).gitMajor=$(subst v,,$(word 1,$(subst ., ,$(KUBERNETES_VERSION)))) \
  -X $(package).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) \
  -X $(package).gitTreeState=clean)

.PHONY: node-programs
node-programs: $(addprefix .tools/node/,kubernetes etcd coredns)

.tools/node/%: images/offline/%/main.go $(OFFLINE) | .tools/.prerequisites
	$(call build-go,images/offline,$(SLOW),$(KUBERNETES_FLAGS),./$*)

.tools/bin/kubectl: $(OFFLINE) | .tools/.prerequisites
	$(call build-go,images/offline,$(SLOW),$(KUBERNETES_FLAGS),k8s.io/kubernetes/cmd/kubectl)

.tools/bin/kind: $(OFFLINE) | .tools/.prerequisites
	$(call build-go,images/offline,,,sigs.k8s.io/kind)

.tools/bin/helm: $(OFFLINE) | .tools/.prerequisites
	$(call build-go,images/offline,$(SLOW),-X helm.sh/helm/v4/internal/version.version=$(HELM_VERSION),helm.sh/helm/v4/cmd/helm)
