# Python packages and tools, in this folder.

##@ Set up
.PHONY: setup setup-wireload setup-quick setup-dev wheel clean
setup: setup-quick .tools/bin/toxiproxy-server .tools/bin/wirebench-go ## what all scenarios need: .venv, wireload, k6, ghz, toxiproxy and the services in Go, in this folder

setup-quick: .tools/.prerequisites ## the same without toxiproxy and the services in Go: what `make bench` needs
	$(call set-up,.tools/bin/k6 .tools/bin/ghz)

setup-wireload: .tools/.prerequisites ## .venv and wireload: what `make bench ARGS='--driver wireload'` needs
	$(call set-up)

# $(call set-up,PROGRAMS): .venv, wireload and these programs, two steps at a time: Python's take one core, and Go waits
# for downloads.
define set-up
+@$(MAKE) --silent --no-print-directory --jobs=2 PARALLEL=yes .venv/.installed .tools/bin/wireload .tools/bin/truth $(1)
endef

setup-dev: setup .venv/.dev-packages ## what test and lint need besides

wheel: setup-wireload ## one file in dist that pip installs: wirebench with wireload, for this platform, without a checkout and Go
	@$(STEP) "wheel: building" $(BIN)/python scripts/build-wheel dist

clean: ## remove all that was installed, built or cached here, and no results
	@scripts/check-unused
	rm -rf .venv .tools build dist services/python/build proto/build tests/browser/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name '*.egg-info' -prune -exec rm -rf {} +
	find . -name __pycache__ -prune -exec rm -rf {} +

.tools/.prerequisites: scripts/check-prerequisites k6/extension/go.mod
	@scripts/check-prerequisites $(PYTHON)
	@mkdir -p .tools/bin
	@touch $@

.venv/pyvenv.cfg: | .tools/.prerequisites
	@$(STEP) "python: making .venv" $(PYTHON) -m venv --clear .venv

# uv takes a tenth of pip's CPU time. pip installs it, by its hash.
.venv/bin/uv: requirements/bench.lock | .venv/pyvenv.cfg
	@awk '/^[a-z]/ {is_uv = /^uv==/} is_uv' $< | $(STEP) "python: installing uv" \
	  $(PIP) install --no-compile --require-hashes --requirement /dev/stdin
	@touch $@

# $(call install-packages,OPTIONS): with uv, or, where that fails, with pip: only pip reads pip's configuration, which
# may name another index or a proxy.
define install-packages
bash -c '.venv/bin/uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) install $(1)'
endef

.venv/.packages: requirements/bench.lock .venv/bin/uv
	@$(STEP) "python: installing packages from $<" $(call install-packages,--require-hashes --requirement $<)
	@touch $@

.venv/.dev-packages: requirements/dev.lock .venv/.packages
	@$(STEP) "python: installing packages from $<" $(call install-packages,--require-hashes --requirement $<)
	@touch $@

.venv/.installed: pyproject.toml proto/pyproject.toml services/python/pyproject.toml .venv/.packages
	@$(STEP) "python: installing wirebench, its services and its contract" \
	  $(call install-packages,--no-deps --no-build-isolation --editable proto --editable services/python --editable .)
	@touch $@

.tools/bin/k6: $(call sources-of,k6/extension wireload) | .tools/.prerequisites
	$(call build-go,k6/extension,$(SLOW))

# Before the others: two builds at once would compile the packages that they share twice.
.tools/bin/k6 .tools/bin/ghz .tools/bin/truth: | .tools/bin/wireload

.tools/bin/wireload: $(call sources-of,wireload) | .tools/.prerequisites
	$(call build-go,wireload)

.tools/bin/wirebench-go: $(call sources-of,services/go) | .tools/.prerequisites
	$(call build-go,services/go)

.tools/bin/bare-go: $(call sources-of,benchmarks/bare-go) | .tools/.prerequisites
	$(call build-go,benchmarks/bare-go)

.tools/bin/truth: $(call sources-of,tests/accuracy/truth) | .tools/.prerequisites
	$(call build-go,tests/accuracy/truth)

.tools/bin/ghz: make/versions.mk | .tools/.prerequisites
	$(call install-go,github.com/bojand/ghz/cmd/ghz,$(GHZ_VERSION),,-X main.version=$(GHZ_VERSION))

# Its module calls the program `server`.
.tools/bin/toxiproxy-server: make/versions.mk | .tools/.prerequisites
	@GOBIN='$(CURDIR)/.tools/toxiproxy' $(STEP) "toxiproxy: building $(TOXIPROXY_VERSION)" \
	  go install -mod=mod -ldflags '-s -w -X github.com/Shopify/toxiproxy/v2.Version=$(TOXIPROXY_VERSION:v%=%)' \
	  github.com/Shopify/toxiproxy/v2/cmd/server@$(TOXIPROXY_VERSION)
	@mv .tools/toxiproxy/server $@
	@rmdir .tools/toxiproxy
	@touch $@

# And promtool beside it.
.tools/bin/prometheus: scripts/build-prometheus make/versions.mk | .tools/.prerequisites
	@$(STEP) "prometheus: building $(PROMETHEUS_VERSION) $(SLOW)" scripts/build-prometheus $(PROMETHEUS_VERSION) .tools/bin
	@touch $@
