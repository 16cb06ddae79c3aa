# Lint, format, generate and lock.

SHELL_CODE = $(shell grep --recursive --files-with-matches '^\#!.*sh$$' scripts images charts .ci)
GO_MODULES := wireload services/go accuracy/truth
GO_CODE := $(GO_MODULES) $(wildcard images/offline/*/*.go)
PYTHON_CODE := $(wildcard wirebench services/python/wirebench_services tests accuracy grafana proto/*.py)

##@ This project
.PHONY: lint format proto dashboards figures lock outdated audit
lint: setup-dev ## dev: ruff, import-linter, mypy, buf, gofmt, go vet and shellcheck
	@$(STEP) "ruff check" $(BIN)/ruff check --quiet
	@$(STEP) "ruff format --check" $(BIN)/ruff format --check --diff --quiet
	@$(STEP) "lint-imports" $(BIN)/lint-imports --no-cache
	@$(STEP) "mypy" $(BIN)/mypy $(PYTHON_CODE)
	@$(STEP) "buf lint" $(BIN)/buf lint
	@$(STEP) "gofmt" bash -c 'diff=$$(gofmt -d $(GO_CODE) 2>&1); echo "$$diff"; [ -z "$$diff" ]'
	@for module in $(GO_MODULES); do $(STEP) "go vet $$module" go -C $$module vet -mod=readonly ./... || exit; done
	@$(STEP) "shellcheck" $(BIN)/shellcheck --external-sources --source-path=SCRIPTDIR/.. $(SHELL_CODE)

format: setup-dev ## dev: let ruff and gofmt write the code their way
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format
	@gofmt -l -w $(GO_CODE)

proto: setup-dev ## dev: generate what follows from proto/ and applications/users.yaml
	@scripts/generate-proto

dashboards: setup-dev ## dev: generate grafana/generated from grafana/boards
	@$(BIN)/python -m grafana

figures: setup ## dev: write the tables and pictures of README and docs/findings.md whose runs are in results/
	@$(BIN)/python docs/figures.py $(ARGS)

lock: .venv/bin/uv ## dev: write uv.lock from what the three pyproject.toml ask for
	@$(BIN)/uv lock $(if $(UPGRADE),--upgrade)

outdated: .venv/bin/uv ## dev: print which pinned Go modules and Python packages have a newer version
	@scripts/outdated github.com/Shopify/toxiproxy/v2@$(TOXIPROXY_VERSION) golang.org/x/vuln@$(GOVULNCHECK_VERSION) \
	  github.com/helm-unittest/helm-unittest@$(HELM_UNITTEST_VERSION) github.com/stefanprodan/podinfo@$(PODINFO_VERSION)

audit: setup-dev .tools/bin/govulncheck build/locks/locust.txt ## dev: known vulnerabilities: govulncheck and pip-audit
	@scripts/audit

.tools/bin/govulncheck: make/versions.mk | .tools/.prerequisites
	$(call build-module,golang.org/x/vuln,$(GOVULNCHECK_VERSION),./cmd/govulncheck)
