# Python packages and tools, in this folder.

##@ Set up
.PHONY: setup setup-wireload setup-quick setup-dev wheel clean
setup: setup-quick .tools/bin/toxiproxy-server .tools/bin/wirebench-go ## what all scenarios need: .venv, wireload, k6, ghz, toxiproxy and the services in Go, in this folder

setup-quick: setup-wireload .tools/bin/k6 .tools/bin/ghz ## the same without toxiproxy and the services in Go: what `make bench` needs

setup-wireload: .venv/.installed .tools/bin/wireload .tools/bin/truth ## .venv and wireload: what `make bench ARGS='--driver wireload'` needs

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

.venv/.packages: requirements/bench.lock | .venv/pyvenv.cfg
	@$(STEP) "python: installing packages from $<" $(PIP) install --require-hashes --requirement $<
	@touch $@

.venv/.dev-packages: requirements/dev.lock .venv/.packages
	@$(STEP) "python: installing packages from $<" $(PIP) install --require-hashes --requirement $<
	@touch $@

.venv/.installed: $(PROJECTS) .venv/.packages
	@$(STEP) "python: installing wirebench, its services and its contract" \
	  $(PIP) install --no-deps --no-build-isolation --editable proto --editable services/python --editable .
	@touch $@

.tools/bin/k6: $(call sources-of,k6/extension wireload) | .tools/.prerequisites
	$(call build-go,k6/extension,$(SLOW))

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
