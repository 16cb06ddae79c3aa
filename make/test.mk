# Tests; those of compose.yaml and of the charts stand beside what they test.

##@ This project
.PHONY: test test-all test-unit test-contract test-timing test-go test-browser test-bench test-cluster fuzz
test: setup-dev ## lint, and all tests that need neither a Docker engine nor many minutes
	@$(MAKE) --no-print-directory --keep-going lint test-go test-charts test-browser test-bench test-unit test-contract test-timing

# The race detector needs a C compiler.
test-all: setup-cross-check driver-locust test audit ## dev: all of them: half an hour, or an hour and a half with a Docker engine
	@$(BIN)/python -m pytest tests/contract $(AT_ONCE) -m "slow and not timing"
	@$(BIN)/python -m pytest tests/contract tests/accuracy -m "slow and timing"
	@if command -v gcc >/dev/null; then for module in wireload services/go; do \
	  CGO_ENABLED=1 $(STEP) "go test -race $$module" go -C $$module test -mod=readonly -race ./... || exit; \
	done; fi
	@scripts/test-with-engine

# Those of the contract wait for processes half of the time, so that four at once are good for two cores; those of units
# keep a core busy each. tests/conftest.py groups them.
AT_ONCE := --numprocesses 4 --dist loadgroup --no-loadscope-reorder

test-unit: setup-dev ## dev: Python tests that take milliseconds
	@$(BIN)/python -m pytest tests/unit $(AT_ONCE) --numprocesses logical --maxprocesses 4 -p no:schemathesis $(ARGS)

test-contract: setup-dev .tools/bin/prometheus .tools/bin/podinfo postgres-programs ## dev: the same cases against all transports and runtimes
	@$(BIN)/python -m pytest tests/contract $(AT_ONCE) -m "not slow and not timing" $(ARGS)

test-timing: setup-dev ## dev: those that measure real time, one at a time
	@$(BIN)/python -m pytest tests/contract tests/accuracy -m "timing and not slow" $(ARGS)

test-go: | .tools/.prerequisites ## dev: the tests in Go
	@for module in $(GO_MODULES); do $(STEP) "go test $$module" go -C $$module test -mod=readonly ./... || exit; done

test-browser: setup-dev tests/browser/node_modules/.installed ## dev: the web pages in chromium, which is installed if need be (as root on Debian)
	@CHROMIUM=$$(scripts/browser) && export CHROMIUM && node --test --test-reporter=spec $(ARGS) tests/browser/*.test.js

tests/browser/node_modules/.installed: tests/browser/package.json tests/browser/package-lock.json
	@scripts/browser >/dev/null
	@$(STEP) "npm: installing playwright-core and axe-core" npm ci --prefix tests/browser --no-audit --no-fund
	@touch $@

test-bench: setup-dev ## dev: a run of the quick scenario, with its report
	@rm -rf build/tests/bench
	@$(MAKE) --no-print-directory bench SCENARIO=scenarios/quick.yaml BLOCKS=2 OUT=build/tests/bench ARGS=

# The load has to be less than a quarter of an hour old when panels are looked at.
test-cluster: setup-dev ## dev: what `make cluster-up` left in the cluster, and every panel of the dashboards under load; skipped where there is none
	@$(BIN)/python -m pytest tests/cluster $(ARGS)
	@$(BIN)/wirebench load rest --duration 30s
	@for transport in grpc socket; do $(BIN)/wirebench load $$transport --duration 30s --driver wireload || exit; done
	@$(BIN)/wirebench load grpc --duration 10s
	@WIREBENCH_PROMETHEUS_URL=http://localhost:9090 $(BIN)/python -m pytest tests/contract/test_dashboards_live.py

FUZZ_INPUTS ?= 100000
FUZZ_TARGETS = $(shell cd wireload && grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' * | sed -E 's,/[^/]*:func ,:,')
fuzz: | .tools/.prerequisites ## dev: give each parser of wireload FUZZ_INPUTS random inputs (100,000), or as FUZZ_INPUTS=60s a time
	@for target in $(FUZZ_TARGETS); do echo "$$target"; go -C wireload test -mod=readonly ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}$$" \
		-fuzztime $(patsubst %sx,%s,$(FUZZ_INPUTS)x) -fuzzminimizetime 20x || exit; done
