# The charts: what checks them without a cluster, and their READMEs.

##@ This project
.PHONY: test-charts chart-readmes
test-charts: .tools/bin/helm .tools/bin/helm-unittest .tools/bin/kube-score .tools/bin/helm-docs .venv/bin/uv ## dev: the charts, with all values in charts/*/ci
	@KUBERNETES_VERSION=$(KUBERNETES_VERSION) charts/check.sh $(CHECKOV) $(KUBERNETES_VALIDATE)

chart-readmes: .tools/bin/helm-docs ## dev: write the tables of values in charts/*/README.md
	@$< --log-level warning --chart-search-root charts --template-files ./README.md.gotmpl --sort-values-order file $(ARGS)

.tools/bin/helm-unittest: make/versions.mk | .tools/.prerequisites
	$(call build-module,github.com/helm-unittest/helm-unittest,$(HELM_UNITTEST_VERSION),./cmd/helm-unittest)

.tools/bin/kube-score: make/versions.mk | .tools/.prerequisites
	$(call build-module,github.com/zegl/kube-score,$(KUBE_SCORE_VERSION),./cmd/kube-score)

.tools/bin/helm-docs: make/versions.mk | .tools/.prerequisites
	$(call build-module,github.com/norwoodj/helm-docs,$(HELM_DOCS_VERSION),./cmd/helm-docs)
