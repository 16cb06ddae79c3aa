# The charts: what checks them without a cluster.

##@ This project
.PHONY: test-charts
test-charts: .tools/bin/helm .tools/bin/helm-unittest ## dev: the charts with all values in charts/*/ci: helm lint, unit tests
	@for values in $(wildcard charts/*/ci/*-values.yaml); do \
	  $(STEP) "$$values" .tools/bin/helm lint --strict --kube-version $(KUBERNETES_VERSION) --values $$values $${values%/ci/*} || exit; \
	done
	@$(STEP) "helm-unittest" .tools/bin/helm-unittest --strict $(dir $(wildcard charts/*/Chart.yaml))

.tools/bin/helm-unittest: scripts/build-module make/versions.mk | .tools/.prerequisites
	@$(STEP) "helm-unittest: building $(HELM_UNITTEST_VERSION) $(SLOW)" scripts/build-module .tools/bin \
	  github.com/helm-unittest/helm-unittest@$(HELM_UNITTEST_VERSION) ./cmd/helm-unittest -- -ldflags '-s -w'
	@touch $@
