# Versions of Go programs. Others are in the go.mod that they are built from: k6, ghz, and images/offline for Kubernetes,
# kind, helm, Prometheus, etcd and CoreDNS. Python packages (buf and uv among them) are in uv.lock, published images in
# images/published.txt. `make outdated` says what is behind.
TOXIPROXY_VERSION := v2.12.0
OHA_VERSION := 1.16.0
# The last commit before its module path got a suffix that the version tags lack.
PODINFO_VERSION := v1.8.1-0.20250910200901-e86405a8674e
HELM_UNITTEST_VERSION := v1.1.2
HELM_DOCS_VERSION := v1.14.2
KUBE_SCORE_VERSION := v1.20.0
KUBERNETES_VALIDATE := kubernetes-validate==1.37.0
CHECKOV := checkov==3.3.30
GOVULNCHECK_VERSION := v1.9.0

# $(call version-of,FOLDER,MODULE): from a go.mod.
version-of = $(shell awk '$$1 == "$(2)" { print $$2 }' $(1)/go.mod)
GHZ_VERSION = $(call version-of,ghz,github.com/bojand/ghz)
KUBERNETES_VERSION = $(call version-of,images/offline,k8s.io/kubernetes)
HELM_VERSION = $(call version-of,images/offline,helm.sh/helm/v4)
# v0.316.0 is the module of release 3.16.0.
PROMETHEUS_RELEASE = $(subst v0.3,3.,$(call version-of,images/offline,github.com/prometheus/prometheus))
