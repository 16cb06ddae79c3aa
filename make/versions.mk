# Versions of tools. Those of k6 and ghz are in their go.mod, those of Python packages (buf and uv among them) in uv.lock,
# and that of Kubernetes in images/offline/kubernetes/go.mod.
GHZ_VERSION = $(shell sed -nE 's,.*github.com/bojand/ghz (v[0-9.]+).*,\1,p' ghz/go.mod)
TOXIPROXY_VERSION := v2.12.0
OHA_VERSION := 1.16.0
# The last commit before its module path got a suffix that the version tags lack.
PODINFO_VERSION := v1.8.1-0.20250910200901-e86405a8674e
# How Prometheus calls itself, and how its Go module writes that.
PROMETHEUS_RELEASE := 3.15.0
PROMETHEUS_VERSION := v0.315.0
KIND_VERSION := v0.33.0
HELM_VERSION := v4.3.1
HELM_UNITTEST_VERSION := v1.1.2
HELM_DOCS_VERSION := v1.14.2
KUBE_SCORE_VERSION := v1.20.0
KUBERNETES_VALIDATE := kubernetes-validate==1.37.0
CHECKOV := checkov==3.3.30
# The version that kubeadm of images/offline/kubernetes asks for.
COREDNS_VERSION := v1.12.1
