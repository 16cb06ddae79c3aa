# Lint, format, generate and lock.

SHELL_CODE = $(shell grep --recursive --files-with-matches '^\#!.*sh$$' scripts images .ci)
GO_MODULES := wireload k6/extension services/go benchmarks/bare-go tests/accuracy/truth
GO_CODE := $(GO_MODULES) $(wildcard images/offline/*/*.go)
PYTHON_CODE := $(wildcard wirebench services/python/wirebench_services tests benchmarks grafana proto/*.py docs/*.py)

##@ Check and change the code
.PHONY: lint lint-python lint-imports lint-types lint-proto lint-go lint-shell format proto dashboards lock
lint: lint-python lint-imports lint-types lint-proto lint-go lint-shell ## ruff, import-linter, mypy, buf, gofmt, go vet and shellcheck

lint-python: setup-dev
	@$(STEP) "ruff check" $(BIN)/ruff check --quiet
	@$(STEP) "ruff format --check" $(BIN)/ruff format --check --diff --quiet

lint-imports: setup-dev
	@$(STEP) "lint-imports" $(BIN)/lint-imports --no-cache

lint-types: setup-dev
	@$(STEP) "mypy" $(BIN)/mypy $(PYTHON_CODE)

lint-proto: setup-dev
	@$(STEP) "buf lint" $(BIN)/buf lint

lint-go: | .tools/.prerequisites
	@$(STEP) "gofmt" bash -c 'diff=$$(gofmt -d $(GO_CODE) 2>&1); echo "$$diff"; [ -z "$$diff" ]'
	@for module in $(GO_MODULES); do $(STEP) "go vet $$module" go -C $$module vet -mod=readonly ./... || exit; done

lint-shell: setup-dev
	@$(STEP) "shellcheck" $(BIN)/shellcheck --external-sources --source-path=SCRIPTDIR/.. $(SHELL_CODE)

format: setup-dev ## let ruff and gofmt write the code their way
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format
	@gofmt -l -w $(GO_CODE)

proto: setup-dev ## generate what follows from proto/ and applications/users.yaml: stubs, OpenAPI, files of drivers
	@scripts/generate-proto

dashboards: setup-dev ## generate grafana/generated from grafana/boards
	@$(BIN)/python -m grafana

lock: .venv/bin/uv ## write uv.lock from what the three pyproject.toml ask for
	@$(BIN)/uv lock $(if $(UPGRADE),--upgrade)
