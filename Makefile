# The front door: `make help`. What has been set up once is not set up again.

include tools.mk

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # Each step says how long it took.
.SUFFIXES:

##@ Variables
SCENARIO ?= scenarios/quick.yaml ## the question that bench asks: a file, or a name that `wirebench list` shows
TARGET ?= local ## where bench runs it: local, kubernetes, or external with addresses in ARGS
BLOCKS ?= ## repetitions of every cell, if not those of the scenario
SEED ?= ## seed of the order of the cells, to repeat a run's
REPLICAS ?= ## pods of each service that deploy makes, or of the one that load-* loads
WORKERS ?= ## processes in each pod, or of run-*
RESULTS ?= ## yes: cluster-up and deploy also put a server of results there; no: they take it away; not set: as it was
RATE ?= ## requests per second of load-*; without it, as many as get replies
CONCURRENCY ?= 8 ## connections of load-*
DURATION ?= 30s ## how long load-* goes on
OUT ?= ## folder of the results, if not one of its own in results/
TOPIC ?= ## of fetch-hcs-timing: a topic of the Hedera Consensus Service, 0.0.N
TIMING ?= ## the timing file that fetch-hcs-timing writes and benchmark-replay replays
ARGS ?= ## further options of bench, benchmark-replay, fetch-hcs-timing, report, serve, doctor, run-*, load-* and the Python tests
PYTHON ?= python3 ## the Python that .venv is made of (to change it, make clean)
UPGRADE ?= ## if set, lock takes the newest versions of everything

# CGO off: the tools are the same wherever they are built, and need no C compiler. GOWORK off: a go.work of the user's
# is none of their business.
export CGO_ENABLED := 0
export GOWORK := off

BIN := .venv/bin
STEP := scripts/step
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
GO_SERVICES := $(shell find services/go -type f ! -name '*_test.go' 2>/dev/null)
WIRELOAD_SOURCES := $(shell find wireload -type f ! -name '*_test.go' ! -name '*.md' ! -path '*/testdata/*' 2>/dev/null)
K6_SOURCES := $(shell find k6/extension -type f ! -name '*_test.go' ! -name '*.md' 2>/dev/null) $(WIRELOAD_SOURCES)
PROJECTS := pyproject.toml proto/pyproject.toml services/python/pyproject.toml
SHELL_CODE = $(shell grep --recursive --files-with-matches '^\#!.*sh$$' scripts images .ci)
GO_CODE := wireload k6/extension fortio services/go benchmarks/bare-go tests/accuracy/truth $(wildcard images/node/*/*.go)
PYTHON_CODE := $(wildcard wirebench services/python/wirebench_services tests benchmarks grafana proto/*.py)

##@ Measure
.PHONY: bench benchmark-replay fetch-hcs-timing report serve doctor bench-self accuracy
# What wireload drives alone needs no other driver.
bench: setup$(if $(findstring --driver wireload,$(subst =, ,$(ARGS))),-wireload) ## run SCENARIO and say what the measurements support
	@$(BIN)/wirebench run $(SCENARIO) --target $(TARGET) \
	  $(if $(BLOCKS),--blocks $(BLOCKS)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out $(OUT)) $(ARGS)

fetch-hcs-timing: .venv/.installed ## fetch when messages came to TOPIC, for benchmark-replay (ARGS='--network testnet --limit 5000')
	@$(BIN)/wirebench timing fetch-hcs $(if $(TOPIC),--topic '$(TOPIC)') $(if $(TIMING),--out '$(TIMING)') $(ARGS)

benchmark-replay: setup ## replay recorded arrivals on all transports: TIMING, or those of scenarios/replay.yaml
	@$(BIN)/wirebench run scenarios/replay.yaml --target $(TARGET) $(if $(TIMING),--timing '$(TIMING)') \
	  $(if $(BLOCKS),--blocks $(BLOCKS)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out $(OUT)) $(ARGS)

report: setup ## write the report of the last run (or of another: see ARGS='--help')
	@$(BIN)/wirebench report $(ARGS)

serve: setup ## show all results in a browser, at http://127.0.0.1:8400
	@$(BIN)/wirebench serve $(ARGS)

doctor: setup ## say whether this machine is fit to measure, and what would make it fitter
	@$(BIN)/wirebench doctor $(ARGS)

bench-self: setup .tools/bin/bare-go ## measure wirebench itself: what its generators and its bookkeeping cost
	@$(BIN)/python -m benchmarks $(ARGS)

accuracy: setup driver-fortio driver-locust ## compare all drivers with a server whose latency is known, and write docs/accuracy.md (ARGS=--help)
	@$(BIN)/python -m benchmarks.accuracy $(ARGS)

##@ Set up
.PHONY: setup setup-wireload setup-dev clean
setup: setup-wireload .tools/bin/k6 .tools/bin/ghz .tools/bin/toxiproxy-server .tools/bin/wirebench-go ## what bench needs: .venv, wireload, k6, ghz, toxiproxy and the services in Go, in this folder

setup-wireload: .venv/.installed .tools/bin/wireload .tools/bin/truth ## the same without k6, ghz, toxiproxy and the services in Go: enough for `make bench ARGS='--driver wireload'`

setup-dev: setup .venv/.dev-packages ## what test and lint need besides

clean: ## remove all that was installed, built or cached here, and no results
	@scripts/check-unused
	rm -rf .venv .tools build services/python/build proto/build tests/browser/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
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

.tools/bin/k6: $(K6_SOURCES) | .tools/.prerequisites
	@$(STEP) "k6: building k6/extension (minutes, if Go has nothing cached)" \
	  go -C k6/extension build -mod=readonly -buildvcs=false -o ../../$@ .
	@touch $@

.tools/bin/wireload: $(WIRELOAD_SOURCES) | .tools/.prerequisites
	@$(STEP) "wireload: building wireload" go -C wireload build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o ../$@ .
	@touch $@

# As small as an image wants it, and with nothing of this machine in it.
.tools/bin/wirebench-go: $(GO_SERVICES) | .tools/.prerequisites
	@$(STEP) "wirebench-go: building services/go" \
	  go -C services/go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o ../../$@ .
	@touch $@

.tools/bin/bare-go: $(wildcard benchmarks/bare-go/*) | .tools/.prerequisites
	@$(STEP) "bare-go: building benchmarks/bare-go" go -C benchmarks/bare-go build -mod=readonly -buildvcs=false -o ../../$@ .
	@touch $@

.tools/bin/truth: $(wildcard tests/accuracy/truth/*) | .tools/.prerequisites
	@$(STEP) "truth: building tests/accuracy/truth" go -C tests/accuracy/truth build -mod=readonly -buildvcs=false -o ../../../$@ .
	@touch $@

.tools/bin/ghz: tools.mk | .tools/.prerequisites
	@GOBIN=$(CURDIR)/.tools/bin $(STEP) "ghz: building $(GHZ_VERSION)" \
	  go install -mod=mod -ldflags '-s -w -X main.version=$(GHZ_VERSION)' github.com/bojand/ghz/cmd/ghz@$(GHZ_VERSION)
	@touch $@

# Its module calls the program `server`.
.tools/bin/toxiproxy-server: tools.mk | .tools/.prerequisites
	@GOBIN=$(CURDIR)/.tools/toxiproxy $(STEP) "toxiproxy: building $(TOXIPROXY_VERSION)" \
	  go install -mod=mod -ldflags '-s -w -X github.com/Shopify/toxiproxy/v2.Version=$(TOXIPROXY_VERSION:v%=%)' \
	  github.com/Shopify/toxiproxy/v2/cmd/server@$(TOXIPROXY_VERSION)
	@mv .tools/toxiproxy/server $@
	@rmdir .tools/toxiproxy
	@touch $@

# And promtool beside it.
.tools/bin/prometheus: scripts/build-prometheus tools.mk | .tools/.prerequisites
	@$(STEP) "prometheus: building $(PROMETHEUS_VERSION) (minutes, if Go has nothing cached)" \
	  scripts/build-prometheus $(PROMETHEUS_VERSION) .tools/bin
	@touch $@

##@ Test
.PHONY: test test-unit test-contract test-accuracy test-browser test-cluster test-dashboards test-wireload fuzz test-k6 test-go test-python
test: setup-dev ## lint, the Go tests, and all Python tests that need neither cluster nor browser
	@$(MAKE) --no-print-directory --keep-going lint test-wireload test-k6 test-go test-python
	@scripts/test-with-engine --skip

# These wait for processes half of the time, so that three at once are good for two cores. A file's tests stay together:
# they share the services that they start. Tests of accuracy have the machine to themselves.
AT_ONCE := --numprocesses 3 --dist loadfile

test-unit: setup-dev ## the tests that take milliseconds
	@$(BIN)/python -m pytest tests/unit $(AT_ONCE) $(ARGS)

test-contract: setup-dev .tools/bin/prometheus postgres-programs ## the same cases against all transports and runtimes
	@$(BIN)/python -m pytest tests/contract $(AT_ONCE) $(ARGS)

test-accuracy: setup-dev driver-fortio driver-locust ## the measurements against servers whose latency is known
	@$(BIN)/python -m pytest tests/accuracy $(ARGS)

test-python: test-unit test-contract test-accuracy ## these three together

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
	@for transport in rest grpc socket; do $(BIN)/wirebench load $$transport --duration 20s --driver k6 || exit; done
	@$(BIN)/wirebench load grpc --duration 10s
	@WIREBENCH_PROMETHEUS_URL=http://127.0.0.1:9090 $(BIN)/python -m pytest tests/contract/test_dashboards_live.py $(ARGS)

test-wireload: | .tools/.prerequisites ## the Go tests of wireload
	@$(STEP) "go test wireload" go -C wireload test -mod=readonly ./...

FUZZ_INPUTS ?= 100000
FUZZ_TARGETS := transport/rest:FuzzReply transport/rest:FuzzReplyH2C transport/grpc:FuzzReply transport/socket:FuzzReply frame:FuzzPayload request:FuzzLoad request:FuzzCheck histogram:FuzzFile
fuzz: | .tools/.prerequisites ## give each parser of wireload FUZZ_INPUTS random inputs (100,000), or as FUZZ_INPUTS=60s a time
	@for target in $(FUZZ_TARGETS); do echo "$$target"; go -C wireload test -mod=readonly ./$${target%:*} -run '^$$' -fuzz "^$${target#*:}$$" \
		-fuzztime $(patsubst %sx,%s,$(FUZZ_INPUTS)x) -fuzzminimizetime 20x || exit; done

test-k6: | .tools/.prerequisites ## the Go tests of our k6
	@$(STEP) "go test" go -C k6/extension test -mod=readonly ./...

test-go: | .tools/.prerequisites ## the Go tests of the services in Go, and of the server of known latency
	@$(STEP) "go test services/go" go -C services/go test -mod=readonly ./...
	@$(STEP) "go test tests/accuracy/truth" go -C tests/accuracy/truth test -mod=readonly ./...

##@ Check and change the code
.PHONY: lint lint-python lint-types lint-proto lint-go lint-shell format proto proto-check dashboards lock
lint: lint-python lint-types lint-proto lint-go lint-shell ## ruff, mypy, buf, gofmt, go vet and shellcheck

lint-python: setup-dev
	@$(STEP) "ruff check" $(BIN)/ruff check --quiet
	@$(STEP) "ruff format --check" $(BIN)/ruff format --check --diff --quiet

lint-types: setup-dev
	@$(STEP) "mypy" $(BIN)/mypy $(PYTHON_CODE)

lint-proto: setup-dev
	@$(STEP) "buf lint" $(BIN)/buf lint

lint-go: | .tools/.prerequisites
	@$(STEP) "gofmt" bash -c 'diff=$$(gofmt -d $(GO_CODE) 2>&1); echo "$$diff"; [ -z "$$diff" ]'
	@$(STEP) "go vet wireload" go -C wireload vet -mod=readonly ./...
	@$(STEP) "go vet k6/extension" go -C k6/extension vet -mod=readonly ./...
	@$(STEP) "go vet fortio" go -C fortio vet -mod=readonly ./...
	@$(STEP) "go vet services/go" go -C services/go vet -mod=readonly ./...
	@$(STEP) "go vet benchmarks/bare-go" go -C benchmarks/bare-go vet -mod=readonly ./...
	@$(STEP) "go vet tests/accuracy/truth" go -C tests/accuracy/truth vet -mod=readonly ./...

lint-shell: setup-dev
	@$(STEP) "shellcheck" $(BIN)/shellcheck --external-sources --source-path=SCRIPTDIR/.. $(SHELL_CODE)

format: setup-dev ## let ruff and gofmt write the code their way
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format
	@gofmt -l -w $(GO_CODE)

proto: setup-dev ## generate what follows from proto/ and applications/users.yaml: stubs, OpenAPI, files of drivers
	@scripts/generate-proto

proto-check: setup-dev ## check that the generated files are what proto would write
	@$(BIN)/python -m pytest tests/unit/test_proto_drift.py

dashboards: setup-dev ## generate grafana/generated from grafana/boards
	@$(BIN)/python -m grafana

# One version of each package on every Python and platform: results of two machines are results of the same code.
LOCK = .tools/uv/bin/uv pip compile --quiet --universal --fork-strategy fewest --generate-hashes \
  --no-emit-package wirebench-proto --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

lock: .tools/uv/bin/uv ## write requirements/ from what the three pyproject.toml ask for
	@$(STEP) "requirements/bench.lock" \
	  $(LOCK) --group build pyproject.toml services/python/pyproject.toml --output-file requirements/bench.lock
	@$(STEP) "requirements/dev.lock" $(LOCK) --group dev pyproject.toml services/python/pyproject.toml \
	  --constraints requirements/bench.lock --output-file requirements/dev.lock
	@$(STEP) "requirements/services.lock" $(LOCK) --group pyproject.toml:build services/python/pyproject.toml \
	  --constraints requirements/bench.lock --output-file requirements/services.lock
	@$(STEP) "requirements/load.lock" $(LOCK) --group pyproject.toml:build --group pyproject.toml:load \
	  --constraints requirements/bench.lock --output-file requirements/load.lock
	@$(STEP) "requirements/serve.lock" $(LOCK) --group build pyproject.toml \
	  --constraints requirements/bench.lock --output-file requirements/serve.lock
	@$(STEP) "requirements/locust.lock" $(LOCK) --group pyproject.toml:locust --output-file requirements/locust.lock

.tools/uv/bin/uv: tools.mk | .tools/.prerequisites
	@$(STEP) "uv: installing $(UV_VERSION)" bash -c '$(PYTHON) -m venv --clear .tools/uv && \
	  .tools/uv/bin/python -m pip --quiet --disable-pip-version-check install uv==$(UV_VERSION)'
	@touch $@

include services.mk
include drivers.mk
include cluster.mk
include postgres.mk
include compose.mk
include chart.mk

# Make keeps the space before a comment as part of the value.
VARIABLES := $(shell sed -nE 's/^([A-Z_]+) \?= .*\#\# .*/\1/p' $(MAKEFILE_LIST))
$(foreach name,$(VARIABLES),$(eval $(name) := $$(strip $$($(name)))))

##@ Help
.PHONY: help
help: ## this text
	@awk -v columns="$${COLUMNS:-$$(tput cols 2>/dev/null || echo 100)}" -f scripts/help.awk $(MAKEFILE_LIST)
