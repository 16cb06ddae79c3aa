# The front door: `make help`. Targets stand in make/, one file a topic. What has been set up once is not set up again.

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef PARALLEL
.NOTPARALLEL: # Each step says how long it took, on its line.
endif
.SUFFIXES:

##@ Variables
SCENARIO ?= scenarios/quick.yaml ## what bench asks: a file, or a name of `wirebench list`
TARGET ?= ## local, kubernetes, or external with addresses in ARGS; if not, bench is local, load-* in the cluster
BLOCKS ?= ## repetitions of every cell, if not the scenario's
SEED ?= ## dev: seed of the order of the cells, to repeat a run's
REPLICAS ?= ## pods of each service that deploy installs, or of the loaded one
WORKERS ?= ## processes in each pod, or of run-*
RATE ?= ## requests/s of load-*; else as many as get replies
CONCURRENCY ?= 8 ## connections of load-*
DURATION ?= 30s ## how long load-* lasts
OPERATION ?= ## what load-* requests, if not users.get
PAYLOAD ?= ## its size: small, profile, list, batch, 512k, or a number
PLACEMENT ?= ## where load-* runs: same-pod, same-node or cross-node
DRIVER ?= ## what sends load-*, if not k6 (rest), ghz (grpc), wireload (socket)
OUT ?= ## dev: folder of the results, if not one of its own in results/
TIMING ?= ## dev: the timing file that benchmark-replay replays
SPEEDUP ?= ## dev: how much faster than it was recorded
IP_FAMILY ?= ## dev: of a new cluster: ipv4, ipv6 or dual
ARGS ?= ## further options of the command that a target runs (ARGS=--help)
PYTHON ?= python3 ## dev: the Python that .venv is made of (to change it, make clean)
UPGRADE ?= ## dev: if set, lock takes the newest versions of everything

# CGO off: the tools are the same wherever they are built, and need no C compiler. GOWORK off: a user's go.work must not
# change the build.
export CGO_ENABLED := 0
export GOWORK := off
export SCENARIO OUT TIMING # for the shell to quote
# In vet and tests as in builds, so that what is compiled for one is cached for all.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
# Nothing is compiled when it is installed, so that without Python's own cache each program would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
STEP := scripts/step
PIP_OPTIONS := --quiet --disable-pip-version-check --no-input
SLOW := (minutes, if Go has nothing cached)

# $(call sources-of,FOLDERS): what the programs of these folders are built from.
sources-of = $(shell find $(1) -type f ! -name '*_test.go' ! -name '*.md' ! -path '*/testdata/*' 2>/dev/null)

# $(call build-go,FOLDER,NOTE,LINKER FLAGS,PACKAGE): build the program of a folder, with no path of this machine in it.
define build-go
@$(STEP) "$(@F): building $(strip $(1) $(2))" go -C $(1) build -mod=readonly -buildvcs=false -ldflags '-s -w $(3)' \
  -o "$$PWD/$@" $(or $(4),.)
@touch $@
endef

# $(call build-module,MODULE,VERSION,PACKAGE,LINKER FLAGS): build a published program.
define build-module
@$(STEP) "$(@F): building $(2)" scripts/build-module $@ $(1)@$(2) $(3) -ldflags '-s -w $(4)'
@touch $@
endef

include make/versions.mk
# In the order of `make help`.
include $(addprefix make/,$(addsuffix .mk,bench services postgres compose cluster offline setup drivers test charts code help))

# Make keeps the space before a comment as part of the value.
VARIABLES := $(shell sed -nE 's/^([A-Z_]+) \?= .*\#\# .*/\1/p' $(MAKEFILE_LIST))
$(foreach name,$(VARIABLES),$(eval $(name) := $$(strip $$($(name)))))
