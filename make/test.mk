# Tests; those of compose.yaml and of the charts stand beside what they test.

##@ Test
.PHONY: test test-unit test-contract test-timing test-slow test-accuracy test-browser test-cluster test-dashboards test-wireload fuzz test-k6 test-go test-race test-python
test: setup-dev ## lint, the Go tests, and the Python tests that need neither cluster nor browser nor minutes
	@$(MAKE) --no-print-directory --keep-going lint test-wireload test-k6 test-go test-python
	@scripts/test-with-engine --skip

# These wait for processes half of the time, so that four at once are good for two cores. tests/conftest.py groups them.
AT_ONCE := --numprocesses 4 --dist loadgroup --no-loadscope-reorder

test-unit: setup-dev ## the tests that take milliseconds
	@$(BIN)/python -m pytest tests/unit $(AT_ONCE) $(ARGS)

test-contract: setup-dev .tools/bin/prometheus .tools/bin/podinfo postgres-programs ## the same cases against all transports and runtimes
	@$(BIN)/python -m pytest tests/contract $(AT_ONCE) -m "not slow and not timing" $(ARGS)

test-timing: setup-dev ## those that measure real time, one at a time
	@$(BIN)/python -m pytest tests/contract tests/accuracy -m "timing and not slow" $(ARGS)

test-python: test-unit test-contract test-timing ## these three together

test-slow: setup-dev driver-locust .tools/bin/prometheus .tools/bin/podinfo postgres-programs test-race ## those that take minutes and that make test leaves out
	@$(BIN)/python -m pytest tests/contract $(AT_ONCE) -m "slow and not timing" $(ARGS)
	@$(BIN)/python -m pytest tests/contract tests/accuracy -m "slow and timing" $(ARGS)

test-accuracy: setup-dev driver-locust ## all measurements against servers whose latency is known
	@$(BIN)/python -m pytest tests/accuracy $(ARGS)

test-browser: setup-dev tests/browser/node_modules/.installed ## the web pages in chromium, which is installed if need be (as root on Debian)
	@CHROMIUM=$$(scripts/browser) && export CHROMIUM && node --test --test-reporter=spec $(ARGS) tests/browser/*.test.js

tests/browser/node_modules/.installed: tests/browser/package.json tests/browser/package-lock.json
	@scripts/browser >/dev/null
	@$(STEP) "npm: installing playwright-core and axe-core" npm ci --prefix tests/browser --no-audit --no-fund
	@touch $@

test-cluster: setup-dev ## what `make cluster-up` left in the cluster; skipped where there is none
	@$(BIN)/python -m pytest tests/cluster $(ARGS)

# The load has to be less than a quarter of an hour old.
test-dashboards: setup-dev ## every panel of every dashboard, on the cluster's Prometheus after a load on all transports
	@$(BIN)/wirebench load rest --duration 30s
	@for transport in grpc socket; do $(BIN)/wirebench load $$transport --duration 30s --driver wireload || exit; done
	@$(BIN)/wirebench load grpc --duration 10s
	@WIREBENCH_PROMETHEUS_URL=http://127.0.0.1:9090 $(BIN)/python -m pytest tests/contract/test_dashboards_live.py $(ARGS)

test-wireload: | .tools/.prerequisites ## the Go tests of wireload
	@$(STEP) "go test wireload" go -C wireload test -mod=readonly ./...

FUZZ_INPUTS ?= 100000
FUZZ_TARGETS := transport/rest:FuzzReply transport/rest:FuzzReplyH2C transport/grpc:FuzzReply transport/socket:FuzzReply transport/socket:FuzzLine line:FuzzNext frame:FuzzPayload request:FuzzLoad request:FuzzCheck histogram:FuzzFile
fuzz: | .tools/.prerequisites ## give each parser of wireload FUZZ_INPUTS random inputs (100,000), or as FUZZ_INPUTS=60s a time
	@for target in $(FUZZ_TARGETS); do echo "$$target"; go -C wireload test -mod=readonly ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}$$" \
		-fuzztime $(patsubst %sx,%s,$(FUZZ_INPUTS)x) -fuzzminimizetime 20x || exit; done

test-k6: | .tools/.prerequisites ## the Go tests of our k6
	@$(STEP) "go test" go -C k6/extension test -mod=readonly ./...

test-go: | .tools/.prerequisites ## the Go tests of the services in Go, and of the server of known latency
	@$(STEP) "go test services/go" go -C services/go test -mod=readonly ./...
	@$(STEP) "go test tests/accuracy/truth" go -C tests/accuracy/truth test -mod=readonly ./...

# The race detector needs a C compiler. SQLite's code is left out: it takes most of the time, and isn't ours.
test-race: | .tools/.prerequisites ## the Go tests of wireload and of the services in Go with the race detector; skipped without gcc
	@command -v gcc >/dev/null || { echo 'test-race: skipped, because there is no gcc'; exit 0; }; \
	for module in wireload services/go; do \
	  CGO_ENABLED=1 $(STEP) "go test -race $$module" go -C $$module test -mod=readonly -race \
	    -gcflags='modernc.org/...=-race=false' ./... || exit; \
	done
