# The charts: what checks them without a cluster.

# What kubeconform checks against; the version is that of the cluster.
SCHEMAS = .tools/schemas/$(KUBERNETES_VERSION)

##@ This project
.PHONY: test-charts
test-charts: .tools/bin/helm .tools/bin/kubeconform .tools/bin/prometheus .tools/bin/helm-unittest $(SCHEMAS) ## dev: the charts with all values in charts/*/ci: helm lint, Kubernetes' schemas, promtool, unit tests
	@for values in $(wildcard charts/*/ci/*-values.yaml); do \
	  $(STEP) "$$values" scripts/charts/check $$values $(KUBERNETES_VERSION) $(SCHEMAS) || exit; \
	done
	@$(STEP) "helm-unittest" .tools/bin/helm-unittest --strict $(dir $(wildcard charts/*/Chart.yaml))

.tools/bin/kubeconform: make/versions.mk | .tools/.prerequisites
	$(call install-go,github.com/yannh/kubeconform/cmd/kubeconform,$(KUBECONFORM_VERSION))

.tools/bin/helm-unittest: scripts/build-module make/versions.mk | .tools/.prerequisites
	@$(STEP) "helm-unittest: building $(HELM_UNITTEST_VERSION) $(SLOW)" scripts/build-module .tools/bin \
	  github.com/helm-unittest/helm-unittest@$(HELM_UNITTEST_VERSION) ./cmd/helm-unittest -- -ldflags '-s -w'
	@touch $@

$(SCHEMAS): scripts/charts/schemas | .tools/.prerequisites
	@$(STEP) "kubeconform: reading the schemas of Kubernetes $(KUBERNETES_VERSION)" \
	  $(PYTHON) scripts/charts/schemas $(KUBERNETES_VERSION) $@
	@touch $@
