# Measure, report and show.

##@ Measure
.PHONY: bench known-scenario benchmark-replay report serve doctor accuracy coverage replicate
bench: known-scenario setup$(if $(filter %/quick.yaml quick.yaml quick,$(SCENARIO)),-quick) ## run SCENARIO, and report what differs
	@$(BIN)/wirebench run "$$SCENARIO" $(if $(TARGET),--target '$(TARGET)') \
	  $(if $(BLOCKS),--blocks $(BLOCKS)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out "$$OUT") $(ARGS)

known-scenario:
	@for each in "$$SCENARIO" scenarios/"$$SCENARIO"{,.yaml} scenarios/examples/"$$SCENARIO.yaml"; do [[ ! -f $$each ]] || exit 0; done; \
	  echo "bench: no scenario '$$SCENARIO'; next: name a file, or one of: $$(basename -s .yaml scenarios/*.yaml | paste -sd ' ')" >&2; exit 2

benchmark-replay: setup ## replay recorded arrivals on all transports: TIMING, SPEEDUP
	@$(BIN)/wirebench run scenarios/replay.yaml $(if $(TARGET),--target '$(TARGET)') $(if $(TIMING),--set load.timing="$$(realpath "$$TIMING")") $(if $(SPEEDUP),--set load.speedup=$(SPEEDUP)) \
	  $(if $(BLOCKS),--blocks $(BLOCKS)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out "$$OUT") $(ARGS)

report: setup ## write the report of the last run
serve: setup ## show all results at http://127.0.0.1:8400
doctor: setup ## check whether this machine is fit to measure
report serve doctor:
	@$(BIN)/wirebench $@ $(ARGS)

accuracy: setup setup-cross-check driver-locust $(if $(shell command -v cargo),driver-oha) ## dev: compare all drivers with a server whose latency is known
	@$(BIN)/python -m accuracy.drivers $(ARGS)

coverage: setup ## dev: simulate how often intervals cover and verdicts err
replicate: setup ## dev: repeat runs whose right verdicts are known
coverage replicate:
	@$(BIN)/python -m accuracy.$@ $(ARGS)
