# Other drivers: not part of `make setup`, because only scenarios that name them need them.

##@ Drivers to check wireload by
.PHONY: driver-fortio driver-oha driver-locust
driver-fortio: .tools/bin/fortio ## fortio, for REST and gRPC

driver-oha: .tools/bin/oha ## oha, for REST: cargo builds it, in minutes

driver-locust: .tools/locust/bin/locust ## locust, for REST

.tools/bin/fortio: $(wildcard fortio/*) | .tools/.prerequisites
	@$(STEP) "fortio: building fortio/" go -C fortio build -mod=readonly -buildvcs=false -ldflags '-s -w' -o ../$@ .
	@touch $@

.tools/bin/oha: tools.mk | .tools/.prerequisites
	@scripts/check-cargo $(OHA_RUST_VERSION)
	@$(STEP) "oha: building $(OHA_VERSION) (minutes)" \
	  cargo install --quiet --locked --version $(OHA_VERSION) --root .tools oha
	@touch $@

.tools/locust/bin/locust: requirements/locust.lock | .tools/.prerequisites
	@$(STEP) "locust: making .tools/locust" $(PYTHON) -m venv --clear .tools/locust
	@$(STEP) "locust: installing packages from $<" .tools/locust/bin/python -m pip --quiet --disable-pip-version-check \
	  --no-input install --require-hashes --requirement $<
	@touch $@
