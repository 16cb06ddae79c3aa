# Python packages and tools, in this folder.

##@ This project
.PHONY: setup setup-quick setup-dev setup-cross-check setup-openapi wheel clean distclean
setup: setup-quick .tools/bin/toxiproxy-server .tools/bin/wirebench-go ## install what all scenarios need into this folder

# Two steps at a time: Python's take one core, and Go waits for downloads.
setup-quick: .tools/.prerequisites ## dev: the same without toxiproxy and the services in Go: what `make bench` needs
	+@$(MAKE) --silent --no-print-directory --jobs=2 PARALLEL=yes .venv/.installed .tools/bin/wireload .tools/bin/truth

setup-cross-check: .tools/bin/k6 .tools/bin/ghz ## build k6 and ghz, which check the figures of wireload (minutes)

setup-dev: setup .venv/.dev-packages ## dev: what test and lint need besides

setup-openapi: .venv/.openapi-packages ## what `wirebench init --openapi` needs (30 MB)

wheel: setup-quick ## dev: one file in dist that pip installs where there is no checkout and no Go
	@$(STEP) "wheel: building" $(BIN)/python scripts/build-wheel dist

clean: ## remove what was installed or built here; compiled tools and results stay
	@for each in build/cluster/kubeconfig:cluster-down build/compose/images.env:compose-down build/postgres/url:postgres-down; do \
	  [[ ! -e $${each%:*} ]] || { echo "clean: $${each%:*} may be in use; next: make $${each#*:}" >&2; exit 1; }; done
	rm -rf .venv .tools/{locust,.prerequisites} build dist services/python/build proto/build tests/browser/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name '*.egg-info' -prune -exec rm -rf {} +
	find . -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## dev: remove compiled tools as well, which takes minutes to undo
	rm -rf .tools

.tools/.prerequisites: scripts/check-prerequisites wireload/go.mod
	@scripts/check-prerequisites $(PYTHON)
	@mkdir -p .tools/bin
	@touch $@

.venv/pyvenv.cfg: | .tools/.prerequisites
	@$(STEP) "python: making .venv" $(PYTHON) -m venv --clear .venv

# uv takes a tenth of pip's CPU time. pip installs it, by its version and hashes in uv.lock.
.venv/bin/uv: uv.lock | .venv/pyvenv.cfg
	@$(STEP) "python: installing uv" scripts/install-uv $(BIN)/python
	@touch $@

# What each place installs, out of uv.lock, in the form that pip reads as well.
EXPORT_bench := --all-packages --no-dev --group setup
EXPORT_dev := --all-packages --all-extras
EXPORT_openapi := --package wirebench --extra openapi --no-dev
EXPORT_locust := --only-group locust
build/locks/%.txt: uv.lock pyproject.toml .venv/bin/uv
	@$(BIN)/uv export --quiet --frozen --no-emit-workspace --no-header --no-annotate $(EXPORT_$*) --output-file $@

# $(call install-packages,PYTHON,OPTIONS): with uv, or, where that fails, with pip: only pip reads pip's configuration,
# which may name another index or a proxy.
define install-packages
bash -c '$(BIN)/uv pip install --quiet --python $(1) $(2) || $(1) -m pip $(PIP_OPTIONS) install $(2)'
endef

.venv/.packages: build/locks/bench.txt
	@$(STEP) "python: installing packages" $(call install-packages,$(BIN)/python,--require-hashes --requirement $<)
	@touch $@

.venv/.openapi-packages: build/locks/openapi.txt .venv/.installed
	@$(STEP) "python: installing schemathesis" $(call install-packages,$(BIN)/python,--require-hashes --requirement $<)
	@touch $@

.venv/.dev-packages: build/locks/dev.txt .venv/.packages
	@$(STEP) "python: installing packages for development" \
	  $(call install-packages,$(BIN)/python,--require-hashes --requirement $<)
	@touch $@

.venv/.installed: pyproject.toml proto/pyproject.toml services/python/pyproject.toml .venv/.packages
	@$(STEP) "python: installing wirebench, its services and its contract" \
	  $(call install-packages,$(BIN)/python,--no-deps --no-build-isolation --editable proto --editable services/python --editable .)
	@touch $@

.tools/bin/k6: k6/go.mod k6/go.sum | .tools/.prerequisites
	$(call build-go,k6,$(SLOW),,go.k6.io/k6/v2)

# Before the others: two builds at once would compile the packages that they share twice.
.tools/bin/k6 .tools/bin/ghz .tools/bin/truth: | .tools/bin/wireload

.tools/bin/wireload: $(call sources-of,wireload) | .tools/.prerequisites
	$(call build-go,wireload)

.tools/bin/wirebench-go: $(call sources-of,services/go) | .tools/.prerequisites
	$(call build-go,services/go)

.tools/bin/truth: $(call sources-of,accuracy/truth) | .tools/.prerequisites
	$(call build-go,accuracy/truth)

.tools/bin/ghz: ghz/go.mod ghz/go.sum | .tools/.prerequisites
	$(call build-go,ghz,,-X main.version=$(GHZ_VERSION),github.com/bojand/ghz/cmd/ghz)

.tools/bin/toxiproxy-server: make/versions.mk | .tools/.prerequisites
	$(call build-module,github.com/Shopify/toxiproxy/v2,$(TOXIPROXY_VERSION),./cmd/server,\
	  -X github.com/Shopify/toxiproxy/v2.Version=$(TOXIPROXY_VERSION:v%=%))

# Of the service discoveries Kubernetes' is built, and no cloud's. The web interface is not in the module: prometheus
# built like this has its API and no pages.
.tools/bin/prometheus .tools/bin/promtool: GOFLAGS += -tags=remove_all_sd,enable_kubernetes_sd
.tools/bin/prometheus: | .tools/bin/promtool
.tools/bin/prometheus .tools/bin/promtool: $(OFFLINE) | .tools/.prerequisites
	$(call build-go,images/offline,$(SLOW),-X github.com/prometheus/common/version.Version=$(PROMETHEUS_RELEASE),\
	  github.com/prometheus/prometheus/cmd/$(@F))
