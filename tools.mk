# Versions of the tools that are not locked elsewhere: k6 is in k6/extension/go.mod, all Python is in requirements/
# (and with it buf, which comes as a wheel).
GHZ_VERSION := v0.93.0
TOXIPROXY_VERSION := v2.5.0
# Of the drivers in drivers.mk, fortio's is in fortio/go.mod, and locust's in requirements/.
OHA_VERSION := 1.16.0
OHA_RUST_VERSION := 1.88
UV_VERSION := 0.13.8
# v0.315.0 is how Go modules write Prometheus 3.15.0.
PROMETHEUS_VERSION := v0.315.0
KIND_VERSION := v0.33.0
HELM_VERSION := v4.3.1
# The version that kubeadm of images/node/kubernetes asks for.
COREDNS_VERSION := v1.12.1
