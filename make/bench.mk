# Measure, report and show.

##@ Measure
.PHONY: bench benchmark-replay fetch-hcs-timing report serve doctor bench-self accuracy findings coverage replicate
# What wireload drives alone needs no other driver, and quick no other tool.
IS_BY_WIRELOAD = $(findstring --driver wireload,$(subst =, ,$(ARGS)))
IS_QUICK = $(filter %/quick.yaml quick.yaml quick,$(SCENARIO))
bench: setup$(if $(IS_BY_WIRELOAD),-wireload,$(if $(IS_QUICK),-quick)) $(if $(IS_QUICK),,.tools/bin/toxiproxy-server .tools/bin/wirebench-go) ## run SCENARIO, and report what differs
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

accuracy: setup driver-locust $(if $(shell command -v cargo),driver-oha) ## compare all drivers with a server whose latency is known, and write docs/accuracy.md (ARGS=--help)
	@$(BIN)/python -m benchmarks.accuracy $(ARGS)

findings: setup ## write docs/findings.md from the bundles in docs/findings/
	@$(BIN)/python -m benchmarks.findings

coverage: setup-dev ## simulate how often intervals cover and verdicts err, and write the tables in docs/method.md (ARGS=NAME=RUN records blocks)
	@$(BIN)/python -m benchmarks.coverage $(ARGS)

replicate: setup .tools/bin/bare-go ## repeat runs whose right verdicts are known, and write docs/replication.md (hours; ARGS=--help)
	@$(BIN)/python -m benchmarks.replicate $(ARGS)
